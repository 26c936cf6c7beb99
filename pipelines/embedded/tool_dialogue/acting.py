"""Acts in a dialogue: reads the request, believes what it can read of settled matters, and calls what the errand takes.

It is a program and no judge of people: a request in other words than its own it does not understand, and says so.
"""

import re
from collections.abc import Iterable
from typing import Any

from assets.tool_dialogue.domains import Domain, all_domains
from assets.tool_dialogue.errands import Errand, ErrandPlan, MatterMissing, RowMissing, as_argument
from pipelines.agents.actions import RESULT_OF, USER_SAYS
from pipelines.agents.browser_page import GO
from pipelines.agents.episode import RECALL
from pipelines.embedded.memory_items.reading import settled_facts
from pipelines.embedded.task import PromptTask
from pipelines.embedded.tool_dialogue.browsing import calls_on_pages, next_on_pages
from pipelines.embedded.tool_dialogue.calls import calls_made
from pipelines.embedded.tool_dialogue.requests import read_request

WORKS_FOR = re.compile(r"You work for (?P<company>.+?), which ")
NAMES_PAGES = re.compile(rf'"name": ?"{GO}"')
NAMES_RECALL = re.compile(rf'"name": ?"{RECALL}"')
DONE = "That is done; the reference is {reference}."
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
    in_browser = any(NAMES_PAGES.search(turn.content) for turn in task.turns if turn.role != "assistant")
    done = list(calls_on_pages(task.turns, domain) if in_browser else calls_made(task.turns))
    try:
        call = plan.next_call(_known(task, domain, errand), done)
    except MatterMissing as missing:
        label = domain.matters[missing.matter].label
        return recall_once(f"{errand.customer}: {label}", task) or closing(CANNOT.format(missing=label), task)
    except RowMissing:
        return closing(CANNOT.format(missing="which entry you mean"), task)
    if call is None:
        return closing(DONE.format(reference=plan.reference(done)), task)
    if call in [one for one, _ in done]:
        return closing(CANNOT.format(missing="how to go on"), task)
    if in_browser:
        call = next_on_pages(call, calls_made(task.turns), domain)
    arguments = [{"name": name, "value": value} for name, value in call.arguments.items()]
    return {"action": "call", "tool": call.tool, "arguments": arguments, "text": None}


def recall_once(query: str, task: PromptTask) -> dict[str, Any] | None:
    """Return the call that searches the memory, where the agent has such a tool and has not asked it this yet."""
    has_tool = any(NAMES_RECALL.search(turn.content) for turn in task.turns if turn.role != "assistant")
    if not has_tool or any(turn.role == "assistant" and query in turn.content for turn in task.turns):
        return None
    return {"action": "call", "tool": RECALL, "arguments": [{"name": "query", "value": query}], "text": None}


def recalled_texts(task: PromptTask) -> str:
    """Return what a memory gave: the texts in the instructions, and the results of searches."""
    found = [text for text in task.user_texts if text.startswith(f"{RESULT_OF}{RECALL}:")]
    return "\n".join([task.system, *found])


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


def _known(task: PromptTask, domain: Domain, errand: Errand) -> dict[str, str]:
    """Return the values of matters: those that the request states, and those that the memory's texts settle."""
    values = {**errand.stated, **settled_facts(recalled_texts(task), errand.customer, errand.settled)}
    return {matter: as_argument(domain, matter, value) for matter, value in values.items() if matter in domain.matters}
