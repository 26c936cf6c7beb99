"""Rules about the facts of a task's documents."""

from collections.abc import Iterator

from assets.memory_items.facts import Fact, SourceDocument
from assets.memory_items.told_documents import StatedFacts, WrittenDocuments
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.records.answers import normalized
from validation.rules import Rule


def spans_hold_values(facts: StatedFacts, sources: WrittenDocuments, _: DocumentTaskRecipe) -> Iterator[str]:
    documents = _by_id(sources)
    for fact in facts.facts:
        document = documents.get(fact.document_id)
        text = document.text if document else ""  # so a fact of no document has no value there
        if not span_holds(fact, text):
            yield f"{fact.fact_id} has {text[fact.start : fact.end]!r} for {fact.value!r}"


def _by_id(sources: WrittenDocuments) -> dict[str, SourceDocument]:
    return {one.document_id: one for one in sources.documents}


def span_holds(fact: Fact, text: str) -> bool:
    """Return True when the text has the fact's value at the fact's span, however it is spelled."""
    return normalized(fact.kind, text[fact.start : fact.end]) == normalized(fact.kind, fact.value)


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
