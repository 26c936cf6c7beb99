"""Replies to the prompts that word and check questions of any benchmark, to `memory_items/answer` and `memory_items/ask`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pipelines.embedded.memory_items.known_world import Step
from pipelines.embedded.memory_items.reading import answer_by_reading, read_steps
from pipelines.embedded.task import PromptTask


def word_question(task: PromptTask, wanted: str, frames: Sequence[str], options_frames: Sequence[str]) -> dict[str, Any]:
    """Word the question in one of these frames, with its options where there are some."""
    rng = task.rng("question")
    if "options" not in task.blocks:
        return {"question": rng.choice(frames).format(wanted=wanted)}
    options = ", ".join(task.data("options"))
    return {"question": rng.choice(options_frames).format(wanted=wanted, options=options)}


def check_questions(task: PromptTask) -> dict[str, Any]:
    """Read the name and the steps of each case's question."""
    steps: dict[str, Any] = {}
    for number, case in task.data("cases").items():
        numbers = step_numbers(case)
        read = read_steps(str(case["question"]), [Step("", phrase) for phrase in numbers])
        steps[number] = {"name": "none", "steps": []}
        if read is not None:
            steps[number] = {"name": read.name, "steps": numbers_of(read.steps, numbers)}
    return steps


def step_numbers(case: dict[str, Any]) -> dict[str, int]:
    """Return the number of each phrase of a case's steps."""
    return {phrase: int(number) for number, phrase in case["steps"].items()}


def numbers_of(steps: Sequence[Step], numbers: Mapping[str, int]) -> list[int]:
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
    "memory_items/recover": recover_facts,
    "memory_items/ask": answer_from_recall,
}
