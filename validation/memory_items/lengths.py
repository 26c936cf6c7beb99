"""Rules about the turns in which a task's documents arrive, and about the final bytes of each length."""

from collections import Counter
from collections.abc import Iterator, Sequence

from assets.memory_items.documents import ItemDocument, SizedItem, Turn, tokens_of
from assets.memory_items.lengths import chain_names
from assets.memory_items.tasks import TaskLengths, TaskQuestion, TaskTurns
from assets.memory_items.turns import documents_in_view
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.reporting.plurals import counted
from assets.text.words import spells
from validation.rules import Rule, expect


def arrangements(task: TaskTurns | TaskLengths) -> Sequence[Sequence[Turn]]:
    """Return the turns of a task, or those of each of its lengths."""
    if isinstance(task, TaskLengths):
        return [sized.turns for sized in task.lengths]
    return [task.turns]


def facts_have_left_the_window(task: TaskTurns | TaskLengths, _: TaskQuestion, recipe: DocumentTaskRecipe) -> Iterator[str]:
    for turns in arrangements(task):
        for document in documents_in_view(turns, recipe.eviction):
            if document.facts:
                yield f"{document.document_id} is still in view, with the facts {', '.join(document.facts)}"


def every_hop_arrives_once(task: TaskTurns | TaskLengths, question: TaskQuestion, _: DocumentTaskRecipe) -> Iterator[str]:
    for turns in arrangements(task):
        held: Counter[str] = Counter()
        crowded: list[int] = []
        for number, turn in enumerate(turns):
            telling = [document for document in turn.documents if document.facts]
            for document in telling:
                held.update(document.facts)
            if len(telling) > 1:
                crowded.append(number)
        for hop in question.hops:
            if held[hop.fact_id] != 1:
                yield f"the fact {hop.fact_id} is in {counted(held[hop.fact_id], 'document')}"
        # Each hop should take a turn of its own to be remembered.
        for number in crowded:
            yield f"turn {number} has the documents of several hops"


def turn_rules(*, questions: str) -> tuple[Rule, ...]:
    """Return the rules of the stage that arranges turns. `questions`: the stage that asks."""
    return (
        Rule(
            "facts_left_the_window",
            "No fact of the chain is in view when the question comes.",
            facts_have_left_the_window,
            reads=(questions,),
        ),
        Rule("every_hop_arrives", "Each hop's fact arrives in one turn.", every_hop_arrives_once, reads=(questions,)),
    )


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
            if document is None or hop.fact_id not in document.facts or not hop.stands_in(document.text):
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
            if document.role == "filler" and spells(document.text_with_title, name):
                yield f"the filler {document.document_id} has {name!r}"


def length_rules(*, questions: str) -> tuple[Rule, ...]:
    """Return the rules of the stage that fills lengths. `questions`: the stage that asks."""
    return (
        Rule("lengths_are_met", "What a memory receives is as long as the recipe says.", lengths_are_met),
        Rule("facts_in_text", "Every fact of the chain stands in the final text.", facts_are_in_the_text, reads=(questions,)),
        Rule("filler_tells_nothing", "Filler has nothing of the chain.", filler_holds_nothing_of_the_chain, reads=(questions,)),
    )
