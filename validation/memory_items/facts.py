"""What must hold of the facts of a task's documents."""

from collections.abc import Iterator

from assets.memory_items.answers import normalized
from assets.memory_items.facts import Fact
from assets.memory_items.recipe import DocumentTaskRecipe
from validation.memory_items.documents import StatedFacts, ToldDocuments
from validation.rules import Rule


def spans_hold_values(facts: StatedFacts, sources: ToldDocuments, _: DocumentTaskRecipe) -> Iterator[str]:
    """The characters of a fact's span are its value, however it is spelled."""
    texts = {one.document_id: one.text for one in sources.documents}
    for fact in facts.facts:
        if not span_holds(fact, texts.get(fact.document_id, "")):
            yield f"{fact.fact_id} has {texts.get(fact.document_id, '')[fact.start : fact.end]!r} for {fact.value!r}"


def span_holds(fact: Fact, text: str) -> bool:
    """Whether the text has the fact's value where the fact says."""
    return normalized(fact.kind, text[fact.start : fact.end]) == normalized(fact.kind, fact.value)


def subjects_are_named(facts: StatedFacts, sources: ToldDocuments, _: DocumentTaskRecipe) -> Iterator[str]:
    """The document of a fact names its subject."""
    texts = {one.document_id: f"{one.title}\n{one.text}" for one in sources.documents}
    for fact in facts.facts:
        if fact.subject not in texts.get(fact.document_id, ""):
            yield f"{fact.fact_id} is about {fact.subject!r}, which its document does not name"


def fact_rules(*, sources: str) -> tuple[Rule, ...]:
    """The rules of the stage whose records have facts; `sources`: the stage whose records have the documents."""
    return (
        Rule("spans_hold_values", "A fact's span holds its value.", spans_hold_values, reads=(sources,)),
        Rule("subjects_are_named", "A fact's document names its subject.", subjects_are_named, reads=(sources,)),
    )
