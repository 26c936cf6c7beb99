"""Metrics that only one kind of item has: each brings its figures, its tables in reports and on boards, and what is compared.

They are found by entry points, by the mode that a run's items have: shared reports, boards and comparisons name none.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assets.entry_points import EntryPointGroup
from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import Array, Metric
from pipelines.evaluation.records import AnswerRow, Mode, RunManifest
from pipelines.evaluation.report.sections import ReportSection

ASKED = "asked"  # a figure: how often the memory was asked, where an agent decides that
FIRED = "fired"  # a figure: the share of episodes in which the memory gave any text


class OwnFigures(Record):
    """Figures by name of the `count` answers whose `by` is this value; they have intervals where they are over users."""

    by: str
    value: str
    count: int
    figures: dict[str, Estimate]

    def __getitem__(self, name: str) -> Estimate:
        return self.figures[name]


class OwnMetrics(ABC):
    """The metrics of one kind of item. `groups_answers`: they take the place of scores by length and by needed facts."""

    groups_answers: bool = False

    @abstractmethod
    def figures(self, answers: Sequence[AnswerRow], manifest: RunManifest) -> tuple[OwnFigures, ...]:
        """Return the figures of a run with these answers."""
        ...

    @abstractmethod
    def sections(self, figures: Sequence[OwnFigures]) -> Iterator[ReportSection]:
        """Yield the sections of a run's report."""
        ...

    def board_sections(self, named: Mapping[str, Sequence[OwnFigures]]) -> Iterator[ReportSection]:
        """Yield the sections below a board of runs, which have these names."""
        return iter(())

    def tallies(self, answers: Sequence[AnswerRow], *, users: Sequence[str]) -> dict[str, Array]:
        """Return counts by name, each for these users in order, of what two runs are compared by."""
        return {}

    def metrics_for(self, counts: Iterable[str]) -> dict[str, Metric]:
        """Return the metrics by name that these counts have numbers for."""
        return {}

    def scores(self, figures: Sequence[OwnFigures]) -> dict[str, Estimate]:
        """Return the scores by name that a run is held against another release by."""
        return {}


OWN_METRICS = EntryPointGroup[OwnMetrics]("amemgym.metrics")


def own_metrics_of(mode: Mode) -> OwnMetrics | None:
    """Return the metrics of items of this mode; None where they have only those that all have."""
    return OWN_METRICS.get(mode)
