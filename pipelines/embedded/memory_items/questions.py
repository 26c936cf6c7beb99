"""Replies to the prompts that word and check questions of any benchmark, to `memory_items/answer` and `memory_items/ask`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from assets.deep_research.fiction import RELATIONS
from assets.engine.seeded_random import SeededRandom
from assets.memory_items.world.relations import Relation
from assets.recipe.document_tasks import Operation
from pipelines.embedded.code_qa import sentences as notes
from pipelines.embedded.deep_research import sentences as documents_of_fiction
from pipelines.embedded.memory_items.reading import Step, answer_by_reading, read_question, read_steps
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
    frames = documents_of_fiction.QUESTION_FRAMES
    if wanted.startswith(documents_of_fiction.PERSON):
        frames = documents_of_fiction.WHO_FRAMES
    return _word(task, wanted, frames, documents_of_fiction.OPTIONS_FRAMES)


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
    frame = rng.choice(documents_of_fiction.OPERATION_FRAMES[operation][relation.name])
    return frame.format(parts=_listed(parts))


def _greatest(match: re.Match[str]) -> str:
    words = documents_of_fiction.GREATEST[_relation_of(match["by"]).name]
    return words.format(parts=_listed(match["parts"].split("; ")))


def _relation_of(phrase: str) -> Relation:
    """Return the relation whose noun phrase this is, whatever it is of. Raises LookupError."""
    for relation in RELATIONS:
        if phrase.startswith(relation.phrase.removesuffix("{x}")):
            return relation
    raise LookupError(f"a relation of the invented world for {phrase!r}")


def _listed(parts: Sequence[str]) -> str:
    *first, last = parts
    return f"{', '.join(first)} and {last}" if first else last


def word_about_code(task: PromptTask) -> dict[str, Any]:
    """Word a developer's question for what or who is wanted."""
    frames = notes.QUESTION_FRAMES
    wanted = task.text("wanted")
    if wanted.startswith("the person "):
        frames = notes.WHO_FRAMES
    return _word(task, wanted, frames, notes.OPTIONS_FRAMES)


def _word(task: PromptTask, wanted: str, frames: Sequence[str], options_frames: Sequence[str]) -> dict[str, Any]:
    """Word the question in one of these frames, with its options where there are some."""
    rng = task.rng("question")
    if "options" not in task.blocks:
        return {"question": rng.choice(frames).format(wanted=wanted)}
    options = ", ".join(task.data("options"))
    return {"question": rng.choice(options_frames).format(wanted=wanted, options=options)}


def check_research(task: PromptTask) -> dict[str, Any]:
    """Read what each case's question asks, and the names and the steps of its parts."""
    readings: dict[str, Any] = {}
    for number, case in task.data("cases").items():
        numbers = _step_numbers(case)
        read = read_question(str(case["question"]), [Step("", phrase) for phrase in numbers])
        readings[number] = {"operation": "follow", "parts": [], "then": []}
        if read is not None:
            parts = [{"name": part.name, "steps": _numbers_of(part.steps, numbers)} for part in read.parts]
            readings[number] = {"operation": read.operation, "parts": parts, "then": _numbers_of(read.then, numbers)}
    return readings


def check_questions(task: PromptTask) -> dict[str, Any]:
    """Read the name and the steps of each case's question."""
    steps: dict[str, Any] = {}
    for number, case in task.data("cases").items():
        numbers = _step_numbers(case)
        read = read_steps(str(case["question"]), [Step("", phrase) for phrase in numbers])
        steps[number] = {"name": "none", "steps": []}
        if read is not None:
            steps[number] = {"name": read.name, "steps": _numbers_of(read.steps, numbers)}
    return steps


def _step_numbers(case: dict[str, Any]) -> dict[str, int]:
    """Return the number of each phrase of a case's steps."""
    return {phrase: int(number) for number, phrase in case["steps"].items()}


def _numbers_of(steps: Sequence[Step], numbers: Mapping[str, int]) -> list[int]:
    return [numbers[step.phrase] for step in steps if step.phrase in numbers]


def recover_facts(task: PromptTask) -> dict[str, str]:
    """Return what the document states of what is wanted; what it leaves open is missing."""
    found: dict[str, str] = {}
    for number, wanted in task.data("wanted").items():
        value = answer_by_reading([task.text("document")], f"What is {wanted}?")
        if value is not None:
            found[number] = value
    return found


def answer_from_documents(task: PromptTask) -> dict[str, str | None]:
    """Answer what the documents settle, and nothing where they do not."""
    return {"answer": answer_by_reading(task.data("documents"), task.text("question"))}


def answer_from_recall(task: PromptTask) -> dict[str, str | None]:
    """Answer from what was recalled, which is in the instructions, and from what is in sight: the turns before the last."""
    return {"answer": answer_by_reading([task.system, *task.user_texts[:-1]], task.text("question"))}
