"""Memory work of the plain assistant: facts out of a conversation, their place among memories, notes, and what a turn tells."""

import math
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from pipelines.embedded.amemgym.wording import said
from pipelines.embedded.bank import load_bank
from pipelines.embedded.reader import plain_talk, read, stems
from pipelines.embedded.task import Task

SPOKEN = re.compile(r"^(?:\[[^\]]*\] )?user: (?:\[Current Time: [^\]]*\]\s*)?(?P<text>.*)$", re.MULTILINE)
KINDS = re.compile(r"<kinds>\n(?P<lines>.*?)\n</kinds>", re.DOTALL)
ENOUGH = 1 / 3  # of what a variable's name says: a line that says so much of it names the variable
SENTENCE = re.compile(r"[^.?!]+[.?!]*")


def statements(conversation: str) -> list[str]:
    """The sentences of the user that state something; questions tell nothing."""
    said = [sentence.strip() for match in SPOKEN.finditer(conversation) for sentence in SENTENCE.findall(match["text"])]
    return [sentence for sentence in said if len(sentence.split()) > 3 and not sentence.endswith("?")]


@lru_cache(maxsize=5_000)
def settled(text: str) -> frozenset[str]:
    """The variables of the bank that a text settles."""
    return frozenset(name for name, values in load_bank().values.items() if read(text, name=name, values=values))


def extract_facts(task: Task) -> dict[str, list[str]]:
    """Every statement is a fact."""
    return {"facts": statements(task.text("conversation"))}


def reconcile(task: Task) -> dict[str, list[dict[str, str]]]:
    """A fact takes the place of the memory that settles the same variables; any other is new."""
    memories: list[dict[str, str]] = task.data("memories")
    return {"memory": [_change(fact, memories) for fact in task.data("facts")]}


def _change(fact: str, memories: list[dict[str, str]]) -> dict[str, str]:
    for memory in memories:
        if memory["text"] == fact:
            return {"id": memory["id"], "text": fact, "event": "NONE"}
        if settled(fact) and settled(fact) == settled(memory["text"]):
            return {"id": memory["id"], "text": fact, "event": "UPDATE"}
    return {"id": "", "text": fact, "event": "ADD"}


@lru_cache(maxsize=50_000)
def names(line: str, variable: str) -> bool:
    """Whether a line of a policy names the variable; rare words say more than common ones."""
    common, size = plain_talk()
    weights = {word: math.log(size / (common[word] + 1)) for word in stems(said(variable))}
    told = sum(weight for word, weight in weights.items() if word in stems(line))
    return bool(weights) and told >= ENOUGH * sum(weights.values())


def named_by(lines: Sequence[str], variable: str) -> bool:
    """Whether any line names the variable."""
    return any(names(line, variable) for line in lines)


def update_notes(task: Task) -> dict[str, str]:
    """One entry for each variable that a statement settles and that the list of kinds names; all, where none is given."""
    listed = KINDS.search(task.system)
    found = {name: sentence for sentence in statements(task.text("conversation")) for name in sorted(settled(sentence))}
    return {name: known for name, known in found.items() if listed is None or named_by(listed["lines"].splitlines(), name)}


def check_turn(task: Task) -> dict[str, list[dict[str, str]]]:
    """The tracked values that can be read out of the message."""
    message = task.text("message")
    found = {name: read(message, name=name, values=values) for name, values in task.data("state_choices").items()}
    return {"told": [{"variable": name, "value": value} for name, value in found.items() if value]}


MEMORY_WORK: dict[str, Callable[[Task], dict[str, Any]]] = {
    "evaluation/extract_facts": extract_facts,
    "evaluation/reconcile_memories": reconcile,
    "evaluation/update_notes": update_notes,
    "evaluation/check_turn": check_turn,
}
