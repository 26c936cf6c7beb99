"""What must hold of the turns in which a task's documents arrive."""

from collections.abc import Iterator

from assets.deep_research.recipe import DeepResearchRecipe
from assets.deep_research.records.facts import ResearchQuestion
from assets.deep_research.records.tasks import TaskTurns
from assets.deep_research.turns import last_turns
from validation.rules import Rule


def facts_have_left_the_window(task: TaskTurns, _: ResearchQuestion, recipe: DeepResearchRecipe) -> Iterator[str]:
    """No fact of the chain is in what is in view when the question comes."""
    for turn in last_turns(task.turns, recipe.eviction):
        for document in turn.documents:
            if document.facts:
                yield f"{document.document_id} is still in view, with the facts {', '.join(document.facts)}"


def every_hop_arrives_once(task: TaskTurns, question: ResearchQuestion, _: DeepResearchRecipe) -> Iterator[str]:
    """Each hop's fact is in one document, and each such document in a turn of its own."""
    held = [fact for turn in task.turns for document in turn.documents for fact in document.facts]
    for hop in question.hops:
        if held.count(hop.fact_id) != 1:
            yield f"the fact {hop.fact_id} is in {held.count(hop.fact_id)} documents"
    for number, turn in enumerate(task.turns):
        if sum(bool(document.facts) for document in turn.documents) > 1:
            yield f"turn {number} has the documents of several hops"


RULES = (
    Rule(
        "facts_left_the_window",
        "No fact of the chain is in view when the question comes.",
        facts_have_left_the_window,
        reads=("dr_questions",),
    ),
    Rule("every_hop_arrives", "Each hop's fact arrives in one turn.", every_hop_arrives_once, reads=("dr_questions",)),
)
