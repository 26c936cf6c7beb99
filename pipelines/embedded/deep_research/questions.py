"""Replies to the prompts that word and check questions of deep research."""

import re
from collections.abc import Sequence
from typing import Any

from assets.deep_research.fiction import RELATIONS
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.world.relations import Relation
from assets.recipe.document_tasks import Operation
from pipelines.embedded.deep_research import sentences
from pipelines.embedded.memory_items.known_world import Step
from pipelines.embedded.memory_items.questions import numbers_of, step_numbers, word_question
from pipelines.embedded.memory_items.reading import read_question
from pipelines.embedded.task import PromptTask

# What is wanted, as the task tells it, where something is worked out.
WANTED_PATTERNS: dict[Operation, re.Pattern[str]] = {
    "sum": re.compile(r"the sum of these: (?P<parts>.+)"),
    "difference": re.compile(r"the difference(?: in days)?, without a sign, between these: (?P<parts>.+)"),
    "weigh": re.compile(
        r"the difference(?: in days)?, without a sign, between the value that counts and that of the latest unconfirmed "
        r"source: (?P<parts>.+)"
    ),
    "count": re.compile(r"the number of all \{x\} for which (?P<by>.+ \{x\}) is (?P<parts>.+)"),
    "order": re.compile(r"the order, least or earliest first, by (?P<by>.+ \{x\}), of these: (?P<parts>.+)"),
}
GREATEST_WANTED = re.compile(r"\(the one with the greatest or latest value, by (?P<by>.+ \{x\}), of these: (?P<parts>.+)\)")


def word_research(task: PromptTask) -> dict[str, Any]:
    """Word a researcher's question for what or who is wanted, or for what is worked out."""
    wanted = task.text("wanted")
    for operation, pattern in WANTED_PATTERNS.items():
        match = pattern.fullmatch(wanted)
        if match:
            return {"question": _worked_out(operation, match, task.rng("question"))}
    wanted = GREATEST_WANTED.sub(_greatest, wanted)
    frames = sentences.QUESTION_FRAMES
    if wanted.startswith(sentences.PERSON):
        frames = sentences.WHO_FRAMES
    return word_question(task, wanted, frames, sentences.OPTIONS_FRAMES)


def _worked_out(operation: Operation, match: re.Match[str], rng: SeededRandom) -> str:
    """Return a question for what is worked out from the phrases of a match."""
    found = match.groupdict()
    parts = found["parts"].split("; ")
    if "by" in found:
        relation = _relation_of(found["by"])
    else:
        relation = _relation_of(parts[0])
        before = relation.phrase.removesuffix("{x}")
        parts = [part.removeprefix(before) for part in parts]
    frame = rng.choice(sentences.OPERATION_FRAMES[operation][relation.name])
    return frame.format(parts=_list_parts(parts))


def _greatest(match: re.Match[str]) -> str:
    words = sentences.GREATEST[_relation_of(match["by"]).name]
    return words.format(parts=_list_parts(match["parts"].split("; ")))


def _relation_of(phrase: str) -> Relation:
    """Return the relation whose noun phrase this is, whatever it is of. Raises LookupError."""
    for relation in RELATIONS:
        if phrase.startswith(relation.phrase.removesuffix("{x}")):
            return relation
    raise LookupError(f"a relation of the invented world for {phrase!r}")


def _list_parts(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def check_research(task: PromptTask) -> dict[str, Any]:
    """Read what each case's question asks, and the names and the steps of its parts."""
    readings: dict[str, Any] = {}
    for number, case in task.data("cases").items():
        numbers = step_numbers(case)
        read = read_question(str(case["question"]), [Step("", phrase) for phrase in numbers])
        readings[number] = {"operation": "follow", "parts": [], "then": []}
        if read is not None:
            parts = [{"name": part.name, "steps": numbers_of(part.steps, numbers)} for part in read.parts]
            readings[number] = {"operation": read.operation, "parts": parts, "then": numbers_of(read.then, numbers)}
    return readings
