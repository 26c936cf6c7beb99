"""What must hold of the documents of a task as they were told."""

from collections.abc import Iterator
from typing import Protocol

from assets.llm.text import words_of
from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.recipe import DocumentTaskRecipe
from assets.records.base import duplicates
from validation.rules import Rule

# Words by which other benchmarks' documents give away what they are there for.
LABEL_WORDS = frozenset(
    (
        *("adversarial", "contradiction", "contradictory", "decoy", "distractor", "filler"),
        *("irrelevant", "miscellaneous", "noise", "padding", "superseded", "unrelated"),
    )
)


class ToldDocuments(Protocol):
    """A record with a task's own documents, and filler."""

    @property
    def documents(self) -> tuple[SourceDocument, ...]: ...

    @property
    def filler(self) -> tuple[SourceDocument, ...]: ...


class StatedFacts(Protocol):
    """A record with the facts of a task's own documents."""

    @property
    def facts(self) -> tuple[Fact, ...]: ...


def ids_differ(sources: ToldDocuments, _: DocumentTaskRecipe) -> Iterator[str]:
    repeated = duplicates([one.document_id for one in (*sources.documents, *sources.filler)])
    yield from (f"the id {one} is that of several documents" for one in repeated)


def statements_stand_there(sources: ToldDocuments, _: DocumentTaskRecipe) -> Iterator[str]:
    """The text holds each statement's value at its place."""
    for document in (*sources.documents, *sources.filler):
        for placed in document.statements:
            if document.text[placed.start : placed.end] != placed.statement.value:
                yield f"{document.document_id} does not have {placed.statement.value!r} where it should stand"


def licenses_are_known(sources: ToldDocuments, _: DocumentTaskRecipe) -> Iterator[str]:
    for document in (*sources.documents, *sources.filler):
        if document.source and not document.license:
            yield f"{document.document_id} is from {document.source}, under a license that nobody knows"


def no_label_words(sources: ToldDocuments, _: DocumentTaskRecipe) -> Iterator[str]:
    """No title and no text of an invented document says what it is there for."""
    for document in (*sources.documents, *sources.filler):
        for word in label_words(document):
            yield f"{document.document_id} says {word!r}"


def label_words(document: SourceDocument) -> list[str]:
    """The words of an invented document that would tell its role; a real one has the words that it came with."""
    return [] if document.source else sorted(LABEL_WORDS & set(words_of(f"{document.title} {document.text}")))


DOCUMENT_RULES = (
    Rule("ids_differ", "No two documents of a task have one id.", ids_differ),
    Rule("statements_stand_there", "Every statement's value stands where its span says.", statements_stand_there),
    Rule("licenses_are_known", "Every real document has a license.", licenses_are_known),
    Rule("no_label_words", "No title and no text of an invented document says what it is there for.", no_label_words),
)
