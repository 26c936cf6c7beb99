"""What must hold of the accepted research tasks, beside what holds of every task over documents."""

from collections.abc import Iterator

from assets.memory_items.tasks import MemoryTask
from validation.memory_items.ablation import INSTANCE_RULES
from validation.rules import SetRule, Violation


class QuestionsDiffer:
    """Accumulator of a rule that no two tasks ask the same: few documents may hold one chain for many tasks."""

    def __init__(self) -> None:
        self._asked: dict[str, str] = {}
        self._again: list[Violation] = []

    def add(self, record: MemoryTask) -> None:
        asked = " ".join((record.hops[0].subject, *(hop.relation for hop in record.hops)))
        first = self._asked.setdefault(asked, record.task_id)
        if first != record.task_id:
            self._again.append(Violation(record.task_id, f"asks what {first} asks, from {record.hops[0].subject!r}"))

    def violations(self) -> Iterator[Violation]:
        yield from self._again


RULES = (
    *INSTANCE_RULES,
    SetRule("questions_differ", "No two tasks ask for the same from the same start.", QuestionsDiffer),
)
