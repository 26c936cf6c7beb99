"""What must hold of the turns in which a task's documents arrive."""

from collections.abc import Iterator, Sequence

from assets.memory_items.documents import Turn
from assets.memory_items.recipe import DocumentTaskRecipe
from assets.memory_items.tasks import TaskLengths, TaskQuestion, TaskTurns
from assets.memory_items.turns import last_turns
from assets.reporting.plurals import counted
from validation.rules import Rule


def arrangements(task: TaskTurns | TaskLengths) -> Sequence[Sequence[Turn]]:
    """The turns of a task, or those of each of its lengths."""
    return [sized.turns for sized in task.lengths] if isinstance(task, TaskLengths) else [task.turns]


def facts_have_left_the_window(task: TaskTurns | TaskLengths, _: TaskQuestion, recipe: DocumentTaskRecipe) -> Iterator[str]:
    """No fact of the chain is in what is in view when the question comes."""
    for turns in arrangements(task):
        for turn in last_turns(turns, recipe.eviction):
            for document in turn.documents:
                if document.facts:
                    yield f"{document.document_id} is still in view, with the facts {', '.join(document.facts)}"


def every_hop_arrives_once(task: TaskTurns | TaskLengths, question: TaskQuestion, _: DocumentTaskRecipe) -> Iterator[str]:
    """Each hop's fact is in one document, and each such document in a turn of its own."""
    for turns in arrangements(task):
        held = [fact for turn in turns for document in turn.documents for fact in document.facts]
        for hop in question.hops:
            if held.count(hop.fact_id) != 1:
                yield f"the fact {hop.fact_id} is in {counted(held.count(hop.fact_id), 'document')}"
        for number, turn in enumerate(turns):
            if sum(bool(document.facts) for document in turn.documents) > 1:
                yield f"turn {number} has the documents of several hops"


def turn_rules(*, questions: str) -> tuple[Rule, ...]:
    """The rules of the stage that arranges turns; `questions`: the stage that asks."""
    return (
        Rule(
            "facts_left_the_window",
            "No fact of the chain is in view when the question comes.",
            facts_have_left_the_window,
            reads=(questions,),
        ),
        Rule("every_hop_arrives", "Each hop's fact arrives in one turn.", every_hop_arrives_once, reads=(questions,)),
    )
