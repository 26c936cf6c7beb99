"""The function that answers each prompt of deep research; documents are written from hand-written wordings."""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import yaml

from assets.deep_research.fiction import DOCUMENTS_ABOUT, RELATIONS, WORLD, form_of, kind_of_document
from pipelines.embedded.bank import DOCUMENTS
from pipelines.embedded.deep_research import manuals
from pipelines.embedded.deep_research.sentences import CLAUSES, FRAMES
from pipelines.embedded.memory_items import questions
from pipelines.embedded.memory_items.documents import DocumentWordings, clauses_of, documents_of
from pipelines.embedded.task import PromptTask


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
    return documents_of(task, wordings, frames=FRAMES.get(form_of(kind), ()))


def phrase_facts(task: PromptTask) -> dict[str, Any]:
    """Write as many clauses for a relation of the invented world as asked for, different as long as there are some."""
    meaning = task.text("meaning")
    known = [meaning]
    for relation in RELATIONS:
        if relation.meaning == meaning:
            known.extend(CLAUSES[relation.name])
    return clauses_of(task, known)


WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    **dict.fromkeys(WORLD.tell_prompts, tell_documents),
    "dr_sources/phrase": phrase_facts,
    "dr_facts/extract": manuals.extract_manual_facts,
    "dr_questions/word": questions.word_research,
    "dr_questions/check": questions.check_research,
}
