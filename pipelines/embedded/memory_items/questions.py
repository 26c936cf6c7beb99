"""Replies to the prompts that word and check questions of any benchmark, to `memory_items/answer` and `memory_items/ask`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pipelines.embedded.memory_items.asking import ReadQuestion, read_question, word_question
from pipelines.embedded.memory_items.known_world import KnownWorld, Step
from pipelines.embedded.memory_items.reading import answer_by_reading, known_worlds
from pipelines.embedded.task import PromptTask


def word_in_world(world: KnownWorld, task: PromptTask) -> dict[str, Any]:
    """Word the question that the task wants, with its options where there are some."""
    options: list[str] = task.data("options") if "options" in task.blocks else []
    return {"question": word_question(world, task.data("wanted"), options)}


def check_questions(task: PromptTask) -> dict[str, Any]:
    """Read what each case's question asks, and the names and the steps of its parts."""
    readings: dict[str, Any] = {}
    for number, case in task.data("cases").items():
        numbers = {phrase: int(step) for step, phrase in case["steps"].items()}
        read = read_question(str(case["question"]), known_worlds(), [Step("", phrase) for phrase in numbers])
        read = read or ReadQuestion("follow", [])
        parts = [{"name": part.name, "steps": _numbers_of(part.steps, numbers)} for part in read.parts]
        readings[number] = {"operation": read.operation, "parts": parts, "then": _numbers_of(read.then, numbers)}
    return readings


def _numbers_of(steps: Sequence[Step], numbers: Mapping[str, int]) -> list[int]:
    """Return the numbers of these steps, of those that have one."""
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


# Of every benchmark of documents, whose own writers include these.
WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    "memory_items/answer": answer_from_documents,
    "memory_items/check": check_questions,
    "memory_items/recover": recover_facts,
    "memory_items/ask": answer_from_recall,
}
