"""Replies to the prompts that word and check questions of any benchmark, to `memory_items/answer` and `memory_items/ask`."""

from collections.abc import Sequence
from typing import Any

from pipelines.embedded.code_qa import sentences as notes
from pipelines.embedded.deep_research import sentences as documents_of_fiction
from pipelines.embedded.memory_items.reading import Step, answer_by_reading, read_steps
from pipelines.embedded.task import PromptTask


def word_research(task: PromptTask) -> dict[str, Any]:
    """Word a researcher's question for what or who is wanted."""
    frames = documents_of_fiction.QUESTION_FRAMES
    if task.text("wanted").startswith(documents_of_fiction.PERSON):
        frames = documents_of_fiction.WHO_FRAMES
    return _word(task, frames, documents_of_fiction.OPTIONS_FRAMES)


def word_about_code(task: PromptTask) -> dict[str, Any]:
    """Word a developer's question for what or who is wanted."""
    frames = notes.QUESTION_FRAMES
    if task.text("wanted").startswith("the person "):
        frames = notes.WHO_FRAMES
    return _word(task, frames, notes.OPTIONS_FRAMES)


def _word(task: PromptTask, frames: Sequence[str], options_frames: Sequence[str]) -> dict[str, Any]:
    """Word the question in one of these frames, with its options where there are some."""
    rng = task.rng("question")
    wanted = task.text("wanted")
    if "options" not in task.blocks:
        return {"question": rng.choice(frames).format(wanted=wanted)}
    options = ", ".join(task.data("options"))
    return {"question": rng.choice(options_frames).format(wanted=wanted, options=options)}


def check_questions(task: PromptTask) -> dict[str, Any]:
    """Read the name and the steps of each case's question."""
    steps: dict[str, Any] = {}
    for number, case in task.data("cases").items():
        steps[number] = _steps_of(case)
    return steps


def _steps_of(case: dict[str, Any]) -> dict[str, Any]:
    numbers: dict[str, int] = {}
    for number, phrase in case["steps"].items():
        numbers[phrase] = int(number)
    read = read_steps(str(case["question"]), [Step("", phrase) for phrase in numbers])
    if read is None:
        return {"name": "none", "steps": []}
    return {"name": read.name, "steps": [numbers[step.phrase] for step in read.steps]}


def answer_from_documents(task: PromptTask) -> dict[str, str | None]:
    """Answer what the documents settle, and nothing where they do not."""
    return {"answer": answer_by_reading(task.data("documents"), task.text("question"))}


def answer_from_recall(task: PromptTask) -> dict[str, str | None]:
    """Answer from what was recalled, which is in the instructions, and from what is in sight: the turns before the last."""
    return {"answer": answer_by_reading([task.system, *task.user_texts[:-1]], task.text("question"))}
