"""Documents and clauses that the embedded model writes for benchmarks of documents, from hand-written wordings."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.task import PromptTask

FRAMES_PER_DOCUMENT = 3


class DocumentWordings(BaseModel):
    """A kind of document: its titles, and paragraphs of places, each of which has wordings to choose from.

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


def documents_of(task: PromptTask, wordings: DocumentWordings, *, frames: Sequence[str]) -> dict[str, Any]:
    """Write as many documents as the task asks for, each with some of the frames in which facts stand."""
    rng = task.rng("tell")
    documents: list[dict[str, Any]] = []
    for _ in range(task.number(r"exactly (\d+) different documents", default=4)):
        own = rng.sample(frames, min(FRAMES_PER_DOCUMENT, len(frames)))
        document = {"title": rng.choice(wordings.titles), "parts": wordings.parts(rng)}
        documents.append({**document, "frames": own} if own else document)
    return {"documents": documents}


def clauses_of(task: PromptTask, clauses: Sequence[str]) -> dict[str, Any]:
    """Write as many clauses for a relation as the task asks for; where there are fewer, they come again."""
    count = task.number(r"exactly (\d+) clauses", default=4)
    shuffled = task.rng("phrase").shuffled(clauses)
    return {"sentences": [shuffled[number % len(shuffled)] for number in range(count)]}
