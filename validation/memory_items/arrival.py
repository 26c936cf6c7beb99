"""Measure whether arrival tells what counts: how often the first, or the last, of documents that disagree is right."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from assets.memory_items.facts import Fact
from assets.memory_items.operations import AskedFacts
from assets.memory_items.report import ArrivalLine
from assets.memory_items.tasks import MemoryTask
from assets.records.answers import is_right
from assets.records.estimate import Estimate
from assets.reporting.statistic import UserShare

FIRST = "what came first counts"
LAST = "what came last counts"
RULES = (FIRST, LAST)


class ArrivalCounter:
    """Answer each task whose documents disagree on a step by arrival alone, at each length."""

    def __init__(self) -> None:
        self._right: defaultdict[str, list[int]] = defaultdict(list)
        self._readings: list[int] = []

    def add(self, task: MemoryTask, facts: Sequence[Fact]) -> None:
        """Take a task with all facts that its own documents state; one whose documents agree on every step tells nothing."""
        if not is_disputed(task, facts):
            return
        right = dict.fromkeys(RULES, 0)
        for sized in task.lengths:
            order = {document.document_id: place for place, document in enumerate(sized.documents)}
            for rule in RULES:
                value = _follow_facts(task, facts, order, last=rule == LAST)
                right[rule] += value is not None and is_right(task.answer, value)
        for rule in RULES:
            self._right[rule].append(right[rule])
        self._readings.append(len(task.lengths))

    def lines(self) -> list[ArrivalLine]:
        """Return a line per rule; none where no task has documents that disagree."""
        lines: list[ArrivalLine] = []
        for rule, right in self._right.items():
            share = UserShare()
            for hits, readings in zip(right, self._readings, strict=True):
                share.add(hits, readings)
            lines.append(ArrivalLine(rule=rule, tasks=share.users, right=share.estimate()))
        return lines

    def gap(self) -> Estimate | None:
        """Return by how much more often the first is right than the last, with its interval; None of fewer than two tasks."""
        if len(self._readings) < 2:
            return None
        import numpy as np  # heavy, and nothing is measured where the graph is only shown

        from assets.reporting.intervals import Tallies, metric_difference, share

        counts = {
            "first": np.asarray(self._right[FIRST], dtype=float)[:, None],
            "last": np.asarray(self._right[LAST], dtype=float)[:, None],
            "readings": np.asarray(self._readings, dtype=float)[:, None],
        }
        tallies = Tallies(tuple(map(str, range(len(self._readings)))), counts)
        return tallies.estimate(metric_difference(share("first", "readings"), share("last", "readings")))


def is_disputed(task: MemoryTask, facts: Sequence[Fact]) -> bool:
    """Return True where documents give a step of the task several values."""
    for hop in task.hops:
        values = {fact.value for fact in facts if fact.relation == hop.relation and fact.subject == hop.subject}
        if len(values) > 1:
            return True
    return False


def _follow_facts(task: MemoryTask, facts: Sequence[Fact], order: Mapping[str, int], *, last: bool) -> str | None:
    """Return the answer to which the task's facts lead where the first, or last, document to arrive is believed."""

    def believe_fact(said: Sequence[Fact]) -> Fact | None:
        by_arrival = sorted(said, key=lambda fact: order[fact.document_id], reverse=last)
        return by_arrival[0] if by_arrival else None

    arrived = [fact for fact in facts if fact.document_id in order]
    return AskedFacts(task.operation, task.hops).answer(arrived, settle=believe_fact)
