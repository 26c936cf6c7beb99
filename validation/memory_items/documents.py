"""Rules about the documents of a task as they were written, and about the facts in them."""

from collections.abc import Iterator

from assets.memory_items.documents import LABEL_WORDS
from assets.memory_items.facts import SourceDocument, StatedFacts, WrittenDocuments
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.records.base import duplicates
from assets.text.words import words_of
from validation.rules import Rule


def ids_differ(sources: WrittenDocuments, _: DocumentTaskRecipe) -> Iterator[str]:
    for repeated in duplicates([document.document_id for document in (*sources.documents, *sources.filler)]):
        yield f"the id {repeated} is that of several documents"


def statements_stand_there(sources: WrittenDocuments, _: DocumentTaskRecipe) -> Iterator[str]:
    for document in (*sources.documents, *sources.filler):
        for placed in document.statements:
            if not placed.stands_in(document.text):
                yield f"{document.document_id} does not have {placed.statement.value!r} where it should stand"


def licenses_are_known(sources: WrittenDocuments, _: DocumentTaskRecipe) -> Iterator[str]:
    for document in (*sources.documents, *sources.filler):
        if document.source and not document.license:
            yield f"{document.document_id} is from {document.source}, under a license that nobody knows"


def no_label_words(sources: WrittenDocuments, _: DocumentTaskRecipe) -> Iterator[str]:
    for document in (*sources.documents, *sources.filler):
        for word in label_words(document):
            yield f"{document.document_id} says {word!r}"


def label_words(document: SourceDocument) -> list[str]:
    """Return the words of an invented document that would give its role away."""
    # A real document keeps the words that it came with.
    if document.source:
        return []
    return sorted(LABEL_WORDS & set(words_of(f"{document.title} {document.text}")))


DOCUMENT_RULES = (
    Rule("ids_differ", "No two documents of a task have the same id.", ids_differ),
    Rule("statements_stand_there", "Every statement's value stands where its span says.", statements_stand_there),
    Rule("licenses_are_known", "Every real document has a license.", licenses_are_known),
    Rule("no_label_words", "No title or text of an invented document tells its role in the task.", no_label_words),
)


def spans_hold_values(facts: StatedFacts, sources: WrittenDocuments, _: DocumentTaskRecipe) -> Iterator[str]:
    documents = _by_id(sources)
    for fact in facts.facts:
        document = documents.get(fact.document_id)
        text = document.text if document else ""  # so a fact of no document has no value there
        if not fact.stands_in(text):
            yield f"{fact.fact_id} has {text[fact.start : fact.end]!r} for {fact.value!r}"


def _by_id(sources: WrittenDocuments) -> dict[str, SourceDocument]:
    return {document.document_id: document for document in sources.documents}


def subjects_are_named(facts: StatedFacts, sources: WrittenDocuments, _: DocumentTaskRecipe) -> Iterator[str]:
    documents = _by_id(sources)
    for fact in facts.facts:
        document = documents.get(fact.document_id)
        if document is None or fact.subject not in f"{document.title}\n{document.text}":
            yield f"{fact.fact_id} is about {fact.subject!r}, which its document does not name"


def fact_rules(*, sources: str) -> tuple[Rule, ...]:
    """Return the rules of the stage whose records have facts. `sources`: the stage whose records have the documents."""
    return (
        Rule("spans_hold_values", "A fact's span holds its value.", spans_hold_values, reads=(sources,)),
        Rule("subjects_are_named", "A fact's document names its subject.", subjects_are_named, reads=(sources,)),
    )
