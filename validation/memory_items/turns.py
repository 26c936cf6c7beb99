"""Rules about the turns in which a task's documents arrive."""

from collections import Counter
from collections.abc import Iterator, Sequence

from assets.memory_items.documents import Turn
from assets.memory_items.tasks import TaskLengths, TaskQuestion, TaskTurns
from assets.memory_items.turns import documents_in_view
from assets.recipe.document_tasks import DocumentTaskRecipe
from assets.reporting.plurals import counted
from validation.rules import Rule


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
