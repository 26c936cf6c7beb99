"""Rules about the decisions of a team, and about the notes that report them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import date

from assets.code_qa.decisions import decisions_in_code
from assets.code_qa.packages.vocabulary import code_vocabulary
from assets.code_qa.records.behaviours import CodeBehaviours
from assets.code_qa.records.questions import CodeDecisions
from assets.code_qa.records.sources import CodeSources
from assets.code_qa.team.calls import executed_values
from assets.code_qa.team.relations import EXECUTED
from assets.code_qa.team.world import TeamWorld
from assets.memory_items.facts import Fact, Hop, Statement
from assets.memory_items.tasks import TaskDocuments
from assets.memory_items.world.relations import spoken
from assets.recipe.code_qa import PackageRecipe
from assets.reporting.plurals import counted
from validation.memory_items.questions import broken_links
from validation.rules import Rule


def decisions_are_not_in_the_code(decisions: CodeDecisions, sources: CodeSources, recipe: PackageRecipe) -> Iterator[str]:
    yield from decisions_in_code(decisions, TeamWorld(sources, (), code_vocabulary(sources, recipe.packages)))


def results_are_those_of_behaviours(decisions: CodeDecisions, behaviours: CodeBehaviours, _: PackageRecipe) -> Iterator[str]:
    said: list[Hop | Statement] = [*decisions.chain]
    for plan in decisions.plans:
        said += plan.statements
    yield from false_results(said, behaviours)


def false_results(said: Sequence[Hop | Fact | Statement], behaviours: CodeBehaviours) -> Iterator[str]:
    """Yield a sentence for each result or change of a function that was not executed."""
    executed = executed_values(behaviours.behaviours)
    for note in said:
        value = executed.get((note.subject, note.relation), "nothing that is known")
        if note.relation in EXECUTED and value != note.value:
            yield f"{note.relation} of {note.subject} is said to be {note.value}, and was {value}"


def chain_hangs_together(decisions: CodeDecisions, sources: CodeSources, recipe: PackageRecipe) -> Iterator[str]:
    if not recipe.min_hops <= decisions.hops <= recipe.max_hops or len(decisions.chain) != decisions.hops:
        yield f"it has {counted(decisions.hops, 'hop')}, and a chain of {len(decisions.chain)}"
    if sources.operation != "which_of_two":
        yield from broken_links(decisions.chain)


def notes_tell_true_results(documents: TaskDocuments, behaviours: CodeBehaviours, _: PackageRecipe) -> Iterator[str]:
    """Every result in a note, filler too, is what the call returned when it was run, and is in the note's text."""
    for note in (*documents.documents, *documents.filler):
        yield from false_results([placed.statement for placed in note.statements], behaviours)


def notes_are_signed_and_dated(documents: TaskDocuments, _: PackageRecipe) -> Iterator[str]:
    for note in (*documents.documents, *documents.filler):
        if not any(map(str.isdigit, note.title)):
            yield f"{note.document_id} has no day in its title"
        # The day may have a number that a call came to, such as a year, and then tells nothing.
        latest = max((placed.statement.as_of for placed in note.statements), default=date.min)
        title = note.title.replace(spoken(latest), "")
        for placed in note.statements:
            if placed.statement.subject in title or placed.statement.value in title:
                yield f"{note.document_id} names {placed.statement.subject!r} or its value in its title"


def every_fact_was_found_again(documents: TaskDocuments, _: PackageRecipe) -> Iterator[str]:
    facts = Counter([fact.document_id for fact in documents.facts])
    found = Counter([vote.item_id for vote in documents.gate_records if vote.accepted])
    for fact in documents.facts:
        if found[fact.document_id] < facts[fact.document_id]:
            yield f"nobody found {fact.relation} of {fact.subject!r} in {fact.document_id}"


RULES = (
    Rule(
        "decisions_not_in_code",
        "No decision is in the package's code, by text or syntax tree.",
        decisions_are_not_in_the_code,
        reads=("sources",),
    ),
    Rule(
        "planned_results_are_true",
        "A planned result is what the call returned.",
        results_are_those_of_behaviours,
        reads=("behaviours",),
    ),
    Rule("chain_hangs_together", "Each fact is about what the fact before leads to.", chain_hangs_together, reads=("sources",)),
)
NOTE_RULES = (
    Rule(
        "told_results_are_true",
        "A result in a note is what the call returned.",
        notes_tell_true_results,
        reads=("behaviours",),
    ),
    Rule("notes_are_dated", "Titles have a day, and do not tell what a note is about.", notes_are_signed_and_dated),
    Rule(
        "facts_were_found_again",
        "A reader found every fact of the question's notes in their text.",
        every_fact_was_found_again,
        of_votes=True,
    ),
)
