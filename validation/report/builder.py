"""How a benchmark's quality report is made: by measuring the finished items portion by portion, then in one record."""

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
from validation.rules import RecordsByStage


@dataclass(frozen=True)
class SharedLines:
    """What is found out in the same way for every benchmark."""

    rules: tuple[RuleLine, ...] = ()
    columns: tuple[ColumnLine, ...] = ()
    failures: tuple[Failure, ...] = field(default=(), repr=False)


class ReportBuilder(Protocol):
    """Measures a set of which only some items are in memory at a time."""

    def add(self, records: RecordsByStage) -> None:
        """Measure some items; `records` by stage and item."""
        ...

    async def report(self, shared: SharedLines, *, run_context: RunContext, problems: list[str]) -> BenchmarkReport:
        """The report, once all items were added. What had to be left out of it is a sentence in `problems`.

        Raises BudgetReached where a model is asked and the budget is used up.
        """
        ...


def commonest_messages(failures: Sequence[Failure]) -> dict[str, str]:
    """By stage and reason the message of most of these failures; of equally many the first."""
    messages: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for failure in failures:
        messages[f"{failure.stage}: {failure.reason}"][failure.message] += 1
    return {reason: messages[reason].most_common(1)[0][0] for reason in sorted(messages)}


class MinimalReportBuilder:
    """Counts items and what the gates did, and measures nothing else."""

    def __init__(self, recipe: Recipe, *, items: int, benchmark: Benchmark) -> None:
        self._recipe, self._items, self._benchmark = recipe, items, benchmark
        self._gates = Gates()

    def add(self, records: RecordsByStage) -> None:
        for rows in records.values():
            for record in rows.values():
                self._gates.add(votes_of(record))

    async def report(self, shared: SharedLines, *, run_context: RunContext, problems: list[str]) -> MinimalReport:
        reasons = Counter(f"{failure.stage}: {failure.reason}" for failure in shared.failures)
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


def minimal_builder(recipe: Recipe, *, items: int, benchmark: Benchmark) -> ReportBuilder:
    return MinimalReportBuilder(recipe, items=items, benchmark=benchmark)


class MakeBuilder(Protocol):
    def __call__(self, recipe: Recipe, *, items: int, benchmark: Benchmark) -> ReportBuilder: ...
