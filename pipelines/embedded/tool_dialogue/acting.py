"""Acts in a dialogue: reads the request, believes what it can read of settled matters, and calls what the errand takes.

It is a program and no judge of people: a request in other words than its own it does not understand, and says so.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from assets.tool_dialogue.dialogue import report_done
from assets.tool_dialogue.domain import Domain
from assets.tool_dialogue.domains import WHO, all_domains
from assets.tool_dialogue.errands import Errand, ErrandPlan, MatterMissing, RowMissing, as_argument
from assets.worlds.steps import USER_SAYS
from pipelines.embedded.memory_items.calls import calls_made, recall_once, recalled_texts
from pipelines.embedded.task import PromptTask
from pipelines.embedded.tool_dialogue.requests import read_request
from pipelines.embedded.tool_dialogue.world import settled_facts

WORKS_FOR = re.compile(r"You work for (?P<company>.+?), which ")
CANNOT = "I am sorry, I cannot do that yet: I do not know {missing}."


def act(task: PromptTask) -> dict[str, Any]:
    """Return the next action of the dialogue that the messages show."""
    domain = _company(task.user_texts)
    said = [text.removeprefix(USER_SAYS) for text in task.user_texts]
    request = next((read for read in map(read_request, said) if read is not None), None)
    errand = request.errand(domain) if domain and request else None
    if domain is None or errand is None:
        return closing("I do not understand what you need.", task)
    plan = ErrandPlan(domain, errand)
    done = list(calls_made(task.turns))
    known = _known_values(task, domain, errand)
    try:
        call = plan.next_call(known, done)
    except MatterMissing as missing:
        return _ask_about(missing.matter, errand, domain, known, task)
    except RowMissing:
        return closing(CANNOT.format(missing="which entry you mean"), task)
    if call is None:
        return closing(report_done(plan.news(known, done)), task)
    if call in [call_done for call_done, _ in done]:
        return closing(CANNOT.format(missing="how to go on"), task)
    arguments = [{"name": name, "value": value} for name, value in call.arguments.items()]
    return {"action": "call", "tool": call.tool, "arguments": arguments, "text": None}


def closing(words: str, task: PromptTask) -> dict[str, Any]:
    """Say this, and finish where it was said already."""
    said = any(turn.role == "assistant" and words in turn.content for turn in task.turns)
    return {"action": "finish" if said else "say", "tool": None, "arguments": [], "text": None if said else words}


def _company(texts: Iterable[str]) -> Domain | None:
    """Return the company that the agent was told to work for; None for another one than those of this project."""
    for text in texts:
        match = WORKS_FOR.search(text)
        for domain in all_domains().values() if match else ():
            if match and domain.company == match["company"]:
                return domain
    return None


def _known_values(task: PromptTask, domain: Domain, errand: Errand) -> dict[str, str]:
    """Return for whom it is, and the values of matters: those that are stated, and those that the memory's texts settle."""
    texts = recalled_texts(task)
    who = settled_facts(texts, errand.person, (WHO.name,))
    settled = settled_facts(texts, who.get(WHO.name, ""), errand.settled)
    values = {**errand.stated, **settled, **who}
    return {matter: as_argument(domain, matter, value) for matter, value in values.items()}


def _ask_about(matter: str, errand: Errand, domain: Domain, known: Mapping[str, str], task: PromptTask) -> dict[str, Any]:
    """Search the memory for what is missing, or say that it is."""
    if matter == WHO.name:
        return recall_once(errand.person, task) or closing(CANNOT.format(missing=f"who is meant by {errand.person}"), task)
    label = domain.matters[matter].label
    return recall_once(f"{known[WHO.name]}: {label}", task) or closing(CANNOT.format(missing=label), task)
