"""Build a benchmark's quality report: measure one finished item after the other, then make one record of it."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from assets.engine.benchmark import Benchmark
from assets.engine.ports import RunContext
from assets.recipe.recipe import Recipe
from assets.records.base import Failure
from assets.records.report import BenchmarkReport, ColumnLine, MinimalReport, RuleLine
from assets.reporting.gate_summary import Gates, votes_of
from validation.rules import RecordsOfItem


@dataclass(frozen=True)
class SharedLines:
    """The parts of a report that are made in the same way for every benchmark."""

    rules: tuple[RuleLine, ...] = ()
    columns: tuple[ColumnLine, ...] = ()
    failures: tuple[Failure, ...] = field(default=(), repr=False)


class ReportBuilder(Protocol):
    """Measure a set of which only some items are in memory at a time."""

    def add(self, records: RecordsOfItem) -> None:
        """Measure an item."""
        ...

    async def report(self, shared: SharedLines, *, run_context: RunContext, problems: list[str]) -> BenchmarkReport:
        """Return the report, once all items were added. Add a sentence to `problems` for whatever is left out of it.

        Raises BudgetReached when a model is asked and the budget is used up.
        """
        ...


def commonest_messages(failures: Sequence[Failure]) -> dict[str, str]:
    """Return the commonest message of each stage and reason; of equally common ones the first."""
    messages: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for failure in failures:
        messages[f"{failure.stage}: {failure.reason}"][failure.message] += 1
    commonest: dict[str, str] = {}
    for reason, counts in sorted(messages.items()):
        [(commonest[reason], _)] = counts.most_common(1)
    return commonest


class MinimalReportBuilder:
    """Count items and what the gates did, and measure nothing else."""

    def __init__(self, recipe: Recipe, *, items: int, benchmark: Benchmark) -> None:
        self._recipe = recipe
        self._items = items
        self._benchmark = benchmark
        self._gates = Gates()

    def add(self, records: RecordsOfItem) -> None:
        for record in records.values():
            self._gates.add(votes_of(record))

    async def report(self, shared: SharedLines, *, run_context: RunContext, problems: list[str]) -> MinimalReport:
        reasons = Counter([f"{failure.stage}: {failure.reason}" for failure in shared.failures])
        return MinimalReport(
            variant=self._recipe.variant,
            noun=self._benchmark.noun,
            wanted=self._recipe.num_items,
            finished=self._items,
            replaced=dict(sorted(reasons.items())),
            replaced_because=commonest_messages(shared.failures),
            gates=tuple(self._gates.lines()),
            rules=shared.rules,
            columns=shared.columns,
            writer=self._recipe.models.writer.model,
            judges=tuple(self._recipe.models.judge.panel),
        )


class MakeBuilder(Protocol):
    def __call__(self, recipe: Recipe, *, items: int, benchmark: Benchmark) -> ReportBuilder: ...
