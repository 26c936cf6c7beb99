"""Documents and clauses that the embedded model writes for benchmarks of documents, from hand-written wordings."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.world.relations import Relation
from pipelines.embedded.memory_items import questions
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


def read_wordings(path: Path) -> dict[str, DocumentWordings]:
    """Return the wordings of a file by kind of document."""
    kinds = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
    return {kind: DocumentWordings.model_validate(wordings) for kind, wordings in kinds.items()}


def document_writers(
    prompts: Iterable[str],
    phrase_prompt: str,
    *,
    wordings: Callable[[], Mapping[str, DocumentWordings]],
    frames: Callable[[str], Sequence[str]],
    clauses: Mapping[str, Sequence[str]],
) -> dict[str, Callable[[PromptTask], Any]]:
    """Return what answers the prompts for documents and the one for clauses, and readers' prompts of all such benchmarks.

    `wordings` and `frames` are by kind of document, `clauses` by a relation's meaning.
    """

    def tell(task: PromptTask) -> dict[str, Any]:
        kind = task.text("kind")
        if kind not in wordings():
            raise ValueError(f"{kind!r} is no kind of document that this model writes")
        return documents_of(task, wordings()[kind], frames=frames(kind))

    def phrase(task: PromptTask) -> dict[str, Any]:
        meaning = task.text("meaning")
        return clauses_of(task, [meaning, *clauses.get(meaning, ())])

    return {**questions.WRITERS, **dict.fromkeys(prompts, tell), phrase_prompt: phrase}


def clauses_by_meaning(relations: Iterable[Relation], clauses: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Return by a relation's meaning its other wordings, which are given by its name."""
    return {relation.meaning: clauses.get(relation.name, ()) for relation in relations}
