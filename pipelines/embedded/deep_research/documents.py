"""Writes documents of an invented world, of each form about each kind of subject, from hand-written wordings."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from assets.deep_research.fiction import DOCUMENTS_ABOUT, RELATIONS, form_of, kind_of_document
from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.bank import DOCUMENTS
from pipelines.embedded.deep_research.sentences import CLAUSES, FRAMES
from pipelines.embedded.task import PromptTask

FRAMES_PER_DOCUMENT = 3


class DocumentWordings(BaseModel):
    """A kind of document: its titles, and paragraphs of places, each of which has wordings to choose from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    titles: tuple[str, ...]
    paragraphs: tuple[tuple[tuple[str, ...], ...], ...]

    def text(self, rng: SeededRandom) -> str:
        """Return a text with a wording for each place."""
        paragraphs: list[str] = []
        for places in self.paragraphs:
            paragraphs.append(" ".join([rng.choice(wordings) for wordings in places]))
        return "\n\n".join(paragraphs)


@cache
def document_wordings() -> Mapping[str, DocumentWordings]:
    """Return the wordings by kind of document, which stand in a file for each kind of subject."""
    found: dict[str, DocumentWordings] = {}
    for about in DOCUMENTS_ABOUT:
        forms = yaml.load((DOCUMENTS / f"{about}.yaml").read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        for form, wordings in forms.items():
            found[kind_of_document(form, about)] = DocumentWordings.model_validate(wordings)
    return found


def tell_documents(task: PromptTask) -> dict[str, Any]:
    """Write as many documents of the kind as asked for, each with frames of its form."""
    kind = task.text("kind")
    wordings = document_wordings().get(kind)
    if wordings is None:
        raise ValueError(f"{kind!r} is no kind of document that this model writes")
    frames = FRAMES.get(form_of(kind), ())
    rng = task.rng("tell")
    documents: list[dict[str, Any]] = []
    for _ in range(task.number(r"exactly (\d+) different documents", default=4)):
        own = rng.sample(frames, min(FRAMES_PER_DOCUMENT, len(frames)))
        documents.append({"title": rng.choice(wordings.titles), "text": wordings.text(rng), "frames": own})
    return {"documents": documents}


def phrase_facts(task: PromptTask) -> dict[str, Any]:
    """Write as many clauses for a relation of the invented world as asked for, different as long as there are some."""
    meaning = task.text("meaning")
    known = [meaning]
    for relation in RELATIONS:
        if relation.meaning == meaning:
            known.extend(CLAUSES[relation.name])
    count = task.number(r"exactly (\d+) clauses", default=4)
    shuffled = task.rng("phrase").shuffled(known)
    return {"sentences": [shuffled[number % len(shuffled)] for number in range(count)]}
