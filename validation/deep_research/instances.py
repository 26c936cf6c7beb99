"""Rules about the accepted research tasks, beside those of every task over documents."""

from assets.memory_items.operations import AskedFacts
from assets.memory_items.tasks import MemoryTask
from validation.rules import NoTwoAlike, SetRule


def asked_of(task: MemoryTask) -> tuple[str, ...]:
    """Return what is asked, the names in the question and the relations of the facts in order."""
    starts = AskedFacts(task.operation, task.hops).starts
    return (task.operation, *starts, *[hop.relation for hop in task.hops])


def asks_the_same(task: MemoryTask, first: str) -> str:
    return f"asks what {first} asks, from {task.hops[0].subject!r}"


def questions_differ() -> NoTwoAlike:
    """Few documents may hold one chain for many tasks."""
    return NoTwoAlike(keys=lambda task: (asked_of(task),), sentence=asks_the_same)


RULES = (SetRule("questions_differ", "No two tasks ask the same question from the same start.", questions_differ),)
