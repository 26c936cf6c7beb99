"""What must hold of the decisions of a team, and of the notes that tell them."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from assets.code_qa.decisions import decisions_in_code
from assets.code_qa.recipe import CodeQaRecipe
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeDecisions, CodeDocuments
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.team.relations import OUTCOME
from assets.memory_items.facts import Hop, Statement
from assets.reporting.plurals import counted
from validation.rules import Rule


def decisions_are_not_in_the_code(decisions: CodeDecisions, sources: CodeSources, recipe: CodeQaRecipe) -> Iterator[str]:
    """No name, number, date or pair of functions of a decision is in the package, by text or by syntax tree."""
    yield from decisions_in_code(decisions, sources, recipe)


def results_are_those_of_behaviours(decisions: CodeDecisions, behaviours: CodeBehaviours, _: CodeQaRecipe) -> Iterator[str]:
    """What a plan says that a call returns is what it returned when it was run."""
    said = [one for plan in decisions.plans for one in plan.statements]
    yield from false_results((*decisions.chain, *said), behaviours)


def false_results(said: Sequence[Hop | Statement], behaviours: CodeBehaviours) -> Iterator[str]:
    """A sentence for each result that no behaviour has."""
    results = {one.call: one.result.text for one in behaviours.behaviours}
    for one in said:
        if one.relation == OUTCOME and results.get(one.subject) != one.value:
            yield f"{one.subject} is said to give {one.value}, and gave {results.get(one.subject, 'nothing that is known')}"


def chain_hangs_together(decisions: CodeDecisions, recipe: CodeQaRecipe) -> Iterator[str]:
    """A chain has as many facts as the recipe allows, each about what the fact before leads to."""
    if not recipe.min_hops <= decisions.hops <= recipe.max_hops or len(decisions.chain) != decisions.hops:
        yield f"it has {counted(decisions.hops, 'hop')}, and a chain of {len(decisions.chain)}"
    for before, after in pairwise(decisions.chain):
        if before.value != after.subject:
            yield f"{after.subject!r} is asked about, and the fact before leads to {before.value!r}"


def notes_tell_true_results(documents: CodeDocuments, behaviours: CodeBehaviours, _: CodeQaRecipe) -> Iterator[str]:
    """Every result in a note, filler too, is what the call returned when it was run, and stands in the note's text."""
    for note in (*documents.documents, *documents.filler):
        yield from false_results([placed.statement for placed in note.statements], behaviours)


def notes_are_signed_and_dated(documents: CodeDocuments, _: CodeQaRecipe) -> Iterator[str]:
    """The title of a note has a day, and no title names what the note is about."""
    for note in (*documents.documents, *documents.filler):
        if not any(sign.isdigit() for sign in note.title):
            yield f"{note.document_id} has no day in its title"
        for placed in note.statements:
            if placed.statement.subject in note.title or placed.statement.value in note.title:
                yield f"{note.document_id} names {placed.statement.subject!r} or its value in its title"


def every_fact_was_found_again(documents: CodeDocuments, _: CodeQaRecipe) -> Iterator[str]:
    """A reader found each fact of the question's own notes in the note's final text."""
    read = [vote.item_id for vote in documents.gate_records if vote.accepted]
    for fact in documents.facts:
        if read.count(fact.document_id) < sum(one.document_id == fact.document_id for one in documents.facts):
            yield f"nobody found {fact.relation} of {fact.subject!r} in {fact.document_id}"


RULES = (
    Rule(
        "decisions_not_in_code",
        "No decision stands in the package's code, by text or syntax tree.",
        decisions_are_not_in_the_code,
        reads=("code_sources",),
    ),
    Rule(
        "planned_results_are_true",
        "A planned result is what the call returned.",
        results_are_those_of_behaviours,
        reads=("code_behaviours",),
    ),
    Rule("chain_hangs_together", "Each fact is about what the fact before leads to.", chain_hangs_together),
)
NOTE_RULES = (
    Rule(
        "told_results_are_true",
        "A result in a note is what the call returned.",
        notes_tell_true_results,
        reads=("code_behaviours",),
    ),
    Rule("notes_are_dated", "Titles have a day, and do not tell what a note is about.", notes_are_signed_and_dated),
    Rule(
        "facts_were_found_again",
        "A reader found every fact of the question's notes in their text.",
        every_fact_was_found_again,
        of_votes=True,
    ),
)
