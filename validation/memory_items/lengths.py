"""Rules about the tasks at each length, on their final bytes."""

from collections.abc import Iterator

from assets.memory_items.documents import ItemDocument, SizedItem, tokens_of
from assets.memory_items.lengths import chain_names
from assets.memory_items.tasks import TaskLengths, TaskQuestion
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.text.words import spells
from validation.memory_items.facts import span_holds
from validation.rules import Rule, expect


def lengths_are_met(task: TaskLengths, recipe: DocumentTaskRecipe) -> Iterator[str]:
    targets = tuple(sized.target_tokens for sized in task.lengths)
    yield from expect(targets == recipe.lengths, f"the lengths are {targets}")
    for sized in task.lengths:
        tokens = tokens_of(sized.turns)
        yield from expect(tokens == sized.tokens, f"it says {sized.tokens} tokens, and {tokens} are there")
        if abs(tokens - sized.target_tokens) > sized.target_tokens * recipe.length_tolerance:
            yield f"{tokens} tokens are too far from {sized.target_tokens}"


def facts_are_in_the_text(task: TaskLengths, question: TaskQuestion, _: DocumentTaskRecipe) -> Iterator[str]:
    for sized in task.lengths:
        known = documents_by_id(sized)
        for hop in question.hops:
            document = known.get(hop.document_id)
            if document is None or hop.fact_id not in document.facts or not span_holds(hop, document.text):
                yield f"at {sized.target_tokens} tokens no document holds {hop.relation} of {hop.subject!r}"


def documents_by_id(sized: SizedItem) -> dict[str, ItemDocument]:
    return {document.document_id: document for document in sized.documents}


def filler_holds_nothing_of_the_chain(task: TaskLengths, question: TaskQuestion, _: DocumentTaskRecipe) -> Iterator[str]:
    names = chain_names(question.hops)
    documents: dict[str, ItemDocument] = {}
    for sized in task.lengths:
        documents.update(documents_by_id(sized))
    for document in documents.values():
        for name in names:
            if document.role == "filler" and spells(document.perceived, name):
                yield f"the filler {document.document_id} has {name!r}"


def length_rules(*, questions: str) -> tuple[Rule, ...]:
    """Return the rules of the stage that fills lengths. `questions`: the stage that asks."""
    return (
        Rule("lengths_are_met", "What a memory receives is as long as the recipe says.", lengths_are_met),
        Rule("facts_in_text", "Every fact of the chain stands in the final text.", facts_are_in_the_text, reads=(questions,)),
        Rule("filler_tells_nothing", "Filler has nothing of the chain.", filler_holds_nothing_of_the_chain, reads=(questions,)),
    )
