"""Replies to the prompts that word and check questions of any benchmark, to `memory_items/answer` and `memory_items/ask`."""

from typing import Any, cast

from pipelines.embedded.code_qa import sentences as notes
from pipelines.embedded.deep_research import sentences as documents_of_fiction
from pipelines.embedded.memory_items.reading import Step, answer_from, read_steps
from pipelines.embedded.task import PromptTask


def word_research(task: PromptTask) -> dict[str, Any]:
    """A researcher's question for what or who is wanted."""
    people = task.text("wanted").startswith(documents_of_fiction.PERSON)
    frames = documents_of_fiction.WHO_FRAMES if people else documents_of_fiction.QUESTION_FRAMES
    return _word(task, frames, documents_of_fiction.OPTIONS_FRAMES)


def word_about_code(task: PromptTask) -> dict[str, Any]:
    """A developer's question for what or who is wanted."""
    frames = notes.WHO_FRAMES if task.text("wanted").startswith("the person ") else notes.QUESTION_FRAMES
    return _word(task, frames, notes.OPTIONS_FRAMES)


def _word(task: PromptTask, frames: tuple[str, ...], options_frames: tuple[str, ...]) -> dict[str, Any]:
    """The question in one of these frames, with its options where there are some."""
    rng = task.rng("question")
    if "options" not in task.blocks:
        return {"question": rng.choice(frames).format(wanted=task.text("wanted"))}
    options = ", ".join(cast(list[str], task.data("options")))
    return {"question": rng.choice(options_frames).format(wanted=task.text("wanted"), options=options)}


def check(task: PromptTask) -> dict[str, Any]:
    """The name and the steps of each case's question."""
    cases = cast(dict[str, dict[str, Any]], task.data("cases"))
    return {number: _steps_of(case) for number, case in cases.items()}


def _steps_of(case: dict[str, Any]) -> dict[str, Any]:
    places = {phrase: int(place) for place, phrase in cast(dict[str, str], case["steps"]).items()}
    read = read_steps(str(case["question"]), [Step("", phrase) for phrase in places])
    if read is None:
        return {"name": "none", "steps": []}
    name, steps = read
    return {"name": name, "steps": [places[step.phrase] for step in steps]}


def answer(task: PromptTask) -> dict[str, str | None]:
    """What the documents settle, and nothing where they do not."""
    documents = cast(list[str], task.data("documents"))
    return {"answer": answer_from(documents, task.text("question"))}


def answer_from_memory(task: PromptTask) -> dict[str, str | None]:
    """The same from what was recalled, which is in the instructions, and from what is in sight: the turns before the last."""
    return {"answer": answer_from([task.system, *task.user_texts[:-1]], task.text("question"))}
