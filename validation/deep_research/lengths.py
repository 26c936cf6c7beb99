"""What must hold of the tasks at each length, on their final bytes."""

from collections.abc import Iterator

from assets.deep_research.lengths import chain_names
from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.facts import ResearchQuestion
from assets.deep_research.records.tasks import TaskLengths, TaskTurns
from assets.llm.text import spells
from assets.memory_items.documents import tokens_of
from validation.deep_research.facts import span_holds
from validation.rules import Rule, expect


def lengths_are_met(task: TaskLengths, recipe: DeepResearchRecipe) -> Iterator[str]:
    """What a memory receives, counted anew, is as long as it says, and as the recipe wants."""
    targets = tuple(sized.target_tokens for sized in task.lengths)
    yield from expect(targets == recipe.lengths, f"the lengths are {targets}")
    for sized in task.lengths:
        tokens = tokens_of(sized.turns)
        yield from expect(tokens == sized.tokens, f"it says {sized.tokens} tokens, and {tokens} are there")
        if abs(tokens - sized.target_tokens) > sized.target_tokens * recipe.length_tolerance:
            yield f"{tokens} tokens are too far from {sized.target_tokens}"


def facts_are_in_the_text(task: TaskLengths, question: ResearchQuestion, _: DeepResearchRecipe) -> Iterator[str]:
    """Every fact of the chain stands in the final text of its document."""
    for sized in task.lengths:
        known = {document.document_id: document for document in sized.documents}
        for hop in question.hops:
            document = known.get(hop.document_id)
            if document is None or hop.fact_id not in document.facts or not span_holds(hop, document.text):
                yield f"at {sized.target_tokens} tokens no document holds {hop.relation} of {hop.subject!r}"


def filler_holds_nothing_of_the_chain(task: TaskLengths, question: ResearchQuestion, _: DeepResearchRecipe) -> Iterator[str]:
    """No name, number or date of the chain is in filler."""
    names = chain_names(question.hops)
    filler = {one.document_id: one for sized in task.lengths for one in sized.documents if one.role == "filler"}
    for document in filler.values():
        for name in names:
            if spells(document.perceived, name):
                yield f"the filler {document.document_id} has {name!r}"


def own_documents_are_unchanged(task: TaskLengths, turns: TaskTurns, _: DeepResearchRecipe) -> Iterator[str]:
    """Each length has the documents of the turns, and beside them filler alone."""
    own = {document.document_id: document for turn in turns.turns for document in turn.documents}
    for sized in task.lengths:
        kept = {document.document_id: document for document in sized.documents if document.role != "filler"}
        yield from expect(kept == own, f"at {sized.target_tokens} tokens the task's own documents are others")


RULES = (
    Rule("lengths_are_met", "What a memory receives is as long as the recipe says.", lengths_are_met),
    Rule("facts_in_text", "Every fact of the chain stands in the final text.", facts_are_in_the_text, reads=("dr_questions",)),
    Rule(
        "filler_tells_nothing", "Filler has nothing of the chain.", filler_holds_nothing_of_the_chain, reads=("dr_questions",)
    ),
    Rule("own_documents_unchanged", "Lengths differ in filler alone.", own_documents_are_unchanged, reads=("dr_turns",)),
)
