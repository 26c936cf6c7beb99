"""Believing what came first, or last, solves as many tasks as the other; a layout that favours one is beyond its limit."""

from assets.memory_items.documents import SizedItem, Turn
from assets.memory_items.facts import Fact
from assets.memory_items.report import MemoryItemsReport
from assets.memory_items.tasks import MemoryTask
from tests.support.research_tasks import made_task
from validation.memory_items.arrival import FIRST, LAST, ArrivalCounter


def rivals(task: MemoryTask, facts: tuple[Fact, ...]) -> set[str]:
    """Return the documents that give a step another value."""
    asked = {(hop.subject, hop.relation): hop.value for hop in task.hops}
    found: set[str] = set()
    for fact in facts:
        right = asked.get((fact.subject, fact.relation))
        if right is not None and fact.value != right:
            found.add(fact.document_id)
    return found


def with_rivals(task: MemoryTask, *, first: bool, number: int) -> MemoryTask:
    """Return the task with the documents that do not count before, or after, all others."""
    those = rivals(task, made_task().facts.facts)
    lengths: list[SizedItem] = []
    for sized in task.lengths:
        ordered = sorted(sized.documents, key=lambda one: (one.document_id in those) != first)
        lengths.append(sized.model_copy(update={"turns": (Turn(documents=tuple(ordered)),)}))
    return task.model_copy(update={"task_id": str(number), "lengths": tuple(lengths)})


def counted(firsts: list[bool]) -> ArrivalCounter:
    counter = ArrivalCounter()
    for number, first in enumerate(firsts):
        counter.add(with_rivals(made_task().instance, first=first, number=number), made_task().facts.facts)
    return counter


def report(counter: ArrivalCounter) -> MemoryItemsReport:
    return MemoryItemsReport(
        variant="small",
        noun="task",
        wanted=1,
        finished=1,
        replaced={},
        tokenizer="t",
        length_tolerance=0.05,
        max_auroc=0.6,
        arrival=tuple(counter.lines()),
        arrival_gap=counter.gap(),
    )


def test_tasks_whose_rivals_all_come_last_are_solved_by_what_came_first_and_are_beyond_the_limit() -> None:
    counter = counted([False] * 12)
    right = {line.rule: line.right.value for line in counter.lines()}
    assert right == {FIRST: 1.0, LAST: 0.0}
    (sentence,) = report(counter).exceeded_limits
    assert sentence.startswith("Of documents that disagree, what came first is right more often")


def test_tasks_whose_rivals_come_first_in_one_of_two_are_within_the_limit() -> None:
    counter = counted([True, False] * 8)
    right = {line.rule: line.right.value for line in counter.lines()}
    assert right == {FIRST: 0.5, LAST: 0.5}
    assert report(counter).exceeded_limits == ()


def test_a_task_whose_documents_agree_tells_nothing() -> None:
    counter = ArrivalCounter()
    counter.add(made_task().instance, made_task().question.hops)
    assert counter.lines() == []
    assert counter.gap() is None
