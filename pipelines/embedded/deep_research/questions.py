"""Replies to `dr_questions/word`, `dr_questions/check` and `memory_items/answer`."""

from typing import Any, cast

from pipelines.embedded.deep_research.reading import Step, answer_from, read_steps
from pipelines.embedded.deep_research.sentences import OPTIONS_FRAMES, PERSON, QUESTION_FRAMES, WHO_FRAMES
from pipelines.embedded.task import PromptTask


def word(task: PromptTask) -> dict[str, Any]:
    """The question for what is wanted, with its options."""
    rng = task.rng("question")
    if "options" not in task.blocks:
        wanted = task.text("wanted")
        frames = WHO_FRAMES if wanted.startswith(PERSON) else QUESTION_FRAMES
        return {"question": rng.choice(frames).format(wanted=wanted)}
    options = ", ".join(cast(list[str], task.data("options")))
    return {"question": rng.choice(OPTIONS_FRAMES).format(wanted=task.text("wanted"), options=options)}


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
