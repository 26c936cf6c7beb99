"""The function that answers each prompt of deep research; documents are written from hand-written wordings."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from typing import Any

from assets.deep_research.fiction import DOCUMENTS_ABOUT, RELATIONS, WORLD, form_of, kind_of_document
from pipelines.embedded.bank import DOCUMENTS
from pipelines.embedded.deep_research import manuals
from pipelines.embedded.deep_research.sentences import CLAUSES, FRAMES
from pipelines.embedded.deep_research.world import KNOWN
from pipelines.embedded.memory_items.documents import (
    DocumentWordings,
    clauses_by_meaning,
    document_writers,
    read_wordings,
)
from pipelines.embedded.memory_items.questions import check_questions, word_in_world
from pipelines.embedded.task import PromptTask


@cache
def document_wordings() -> Mapping[str, DocumentWordings]:
    """Return the wordings by kind of document, which stand in a file for each kind of subject."""
    found: dict[str, DocumentWordings] = {}
    for about in DOCUMENTS_ABOUT:
        for form, wordings in read_wordings(DOCUMENTS / f"{about}.yaml").items():
            found[kind_of_document(form, about)] = wordings
    return found


def frames_of(kind: str) -> Sequence[str]:
    """Return the frames of a kind of document, which are those of its form."""
    return FRAMES.get(form_of(kind), ())


WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    **document_writers(
        WORLD.tell_prompts,
        WORLD.phrase_prompt,
        wordings=document_wordings,
        frames=frames_of,
        clauses=clauses_by_meaning(RELATIONS, CLAUSES),
    ),
    "dr_facts/extract": manuals.extract_manual_facts,
    "dr_questions/word": partial(word_in_world, KNOWN),
    "dr_questions/check": check_questions,
}
