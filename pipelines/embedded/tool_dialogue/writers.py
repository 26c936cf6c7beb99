"""The function that answers each prompt of tool dialogues; sessions are told in hand-written wordings."""

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from assets.engine.seeded_random import SeededRandom
from assets.tool_dialogue.desk import ServiceDesk
from assets.tool_dialogue.domains import WHO, WHO_CLAUSES, all_domains
from pipelines.embedded.memory_items import questions
from pipelines.embedded.task import PromptTask
from pipelines.embedded.tool_dialogue.acting import act
from pipelines.embedded.tool_dialogue.requests import check_request, word_request
from pipelines.embedded.tool_dialogue.sentences import FRAMES

FRAMES_PER_DOCUMENT = 3
MATTERS = [matter for domain in all_domains().values() for matter in domain.matters.values()]
CLAUSES = {WHO.meaning: WHO_CLAUSES, **{matter.meaning: matter.clauses for matter in MATTERS}}


class SessionWordings(BaseModel):
    """A kind of session: its titles, and paragraphs of places, each of which has wordings to choose from.

    {statements} in a wording parts the text there.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    titles: tuple[str, ...]
    paragraphs: tuple[tuple[tuple[str, ...], ...], ...]

    def parts(self, rng: SeededRandom) -> list[str]:
        """Return the parts of a text with a wording for each place."""
        paragraphs: list[str] = []
        for places in self.paragraphs:
            paragraphs.append(" ".join([rng.choice(wordings) for wordings in places]))
        return "\n\n".join(paragraphs).split("{statements}")


@cache
def session_wordings() -> Mapping[str, SessionWordings]:
    """Return the wordings by kind of session."""
    text = Path(__file__).with_name("sessions.yaml").read_text(encoding="utf-8")
    kinds = yaml.load(text, Loader=yaml.CSafeLoader)
    return {kind: SessionWordings.model_validate(wordings) for kind, wordings in kinds.items()}


def tell_sessions(task: PromptTask) -> dict[str, Any]:
    """Write as many sessions as the task asks for, each with some of the frames in which matters stand."""
    rng = task.rng("tell")
    kind = task.text("kind")
    wordings = session_wordings()[kind]
    documents: list[dict[str, Any]] = []
    for _ in range(task.number(r"exactly (\d+) different documents", default=4)):
        own = rng.sample(FRAMES[kind], min(FRAMES_PER_DOCUMENT, len(FRAMES[kind])))
        documents.append({"title": rng.choice(wordings.titles), "parts": wordings.parts(rng), "frames": own})
    return {"documents": documents}


def word_matter(task: PromptTask) -> dict[str, Any]:
    """Write as many clauses for a matter as the task asks for; where there are fewer, they come again."""
    count = task.number(r"exactly (\d+) clauses", default=4)
    meaning = task.text("meaning")
    shuffled = task.rng("phrase").shuffled([meaning, *CLAUSES.get(meaning, ())])
    return {"sentences": [shuffled[number % len(shuffled)] for number in range(count)]}


WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    **questions.WRITERS,
    ServiceDesk.tell_prompt: tell_sessions,
    ServiceDesk.phrase_prompt: word_matter,
    "evaluation/act": act,
    "td_requests/word": word_request,
    "td_requests/check": check_request,
}
