"""How well a value tells recalls that kept what was needed: floors that need no model, and a model held against them."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from assets.records.base import Record
from assets.records.estimate import NOTHING, Estimate
from assets.reporting.intervals import jackknife_variance
from assets.reporting.plurals import counted
from assets.reporting.statistic import GAIN, UNIT, Range, Statistic, rounded
from assets.text.words import words_of
from pipelines.errors import EvaluationError
from pipelines.evaluation.report.numbers import format_estimate, format_number, headed_table
from pipelines.experiments.reward_model.rows import RewardRow

Numbers = NDArray[np.float64]
MODEL = "language model"
LEAST_ROWS = 50
LEAST_CELLS = 3  # of a benchmark, whose order says something
UNKNOWN = 0.5  # for a row whose benchmark says no needed value word for word


def fact_recall(row: RewardRow) -> float:
    """Return 1 where all needed values stand in the recalled text, else 0."""
    return UNKNOWN if row.row.fact_recall is None else float(row.row.fact_recall == 1)


def word_overlap(row: RewardRow) -> float:
    """Return the share of the query's words that stand in the recalled text."""
    wanted = set(words_of(row.row.query))
    return len(wanted.intersection(words_of("\n".join(row.row.recalled)))) / max(1, len(wanted))


def compression(row: RewardRow) -> float:
    """Return recalled tokens by written tokens."""
    return row.row.recalled_tokens / max(1, row.written_tokens)


FLOORS: Mapping[str, Callable[[RewardRow], float]] = {
    "fact_recall": fact_recall,
    "word overlap": word_overlap,
    "compression": compression,
}


class Split(Record):
    """Areas under the ROC curve, of floors and of a model that saw no row of the group that it scored."""

    name: str = Field(description="what was held out: a memory, a benchmark, or nothing for floors alone")
    groups: int
    areas: dict[str, Estimate]
    best_floor: str
    gain: Estimate = Field(description="the model's area minus that of the best floor; without a value for floors alone")

    @property
    def sentence(self) -> str:
        """Say whether the model beats the best floor."""
        floor = f"{format_estimate(self.areas[self.best_floor])} of {self.best_floor}"
        if MODEL not in self.areas:
            return f"The best floor tells recalls apart by an area under the curve of {floor}."
        areas = f"area under the curve {format_estimate(self.areas[MODEL])} against {floor}"
        if self.gain.low is not None and self.gain.low > 0:
            return f"On {self.name} the model tells more than any floor: {areas}."
        if self.gain.high is not None and self.gain.high < 0:
            return f"On {self.name} a floor tells more than the model: {areas}."
        return f"On {self.name} a floor does as well as the model: {areas}."


class Order(Record):
    """How each value orders the memories of a benchmark at their budgets: Kendall's tau-b, none where one side has no order."""

    benchmark: str
    cells: int = Field(description="undamaged memories at their budgets")
    taus: dict[str, float | None]


class RewardReport(Record):
    """What floors, and a model, reach on rows of a label."""

    rows: int
    kept: float = Field(description="share of the rows that kept what was needed")
    splits: tuple[Split, ...]
    orders: tuple[Order, ...]

    @property
    def verdict(self) -> str:
        return " ".join(split.sentence for split in self.splits)

    @property
    def text(self) -> str:
        """The report as Markdown."""
        areas: list[list[str]] = []
        for split in self.splits:
            areas.append([split.name, f"{split.groups}", *map(format_estimate, (*split.areas.values(), split.gain))])
        parts = [
            self.verdict,
            f"{counted(self.rows, 'row')} with a label; {self.kept:.1%} kept what was needed. Brackets hold 95 % intervals.",
            "## Area under the ROC curve",
            headed_table(["held out", "groups", *self.splits[0].areas, "model minus best floor"], areas),
        ]
        if self.orders:
            head = ["benchmark", "memories and budgets", *self.orders[0].taus]
            figures = partial(format_number, digits=2)
            lines = [[order.benchmark, f"{order.cells}", *map(figures, order.taus.values())] for order in self.orders]
            parts += ["## Order of memories (Kendall's tau)", headed_table(head, lines)]
        return "\n\n".join(parts) + "\n"


def labelled_rows(rows: Sequence[RewardRow]) -> list[RewardRow]:
    """Return the rows with a label. Raises EvaluationError where there are too few, or all are alike."""
    found = [row for row in rows if row.kept is not None]
    if len(found) < LEAST_ROWS or len({row.kept for row in found}) < 2:
        raise EvaluationError(
            f"{counted(len(found), 'row')} with a label cannot be told apart: it takes {LEAST_ROWS}, of both outcomes. "
            "Evaluate more memories with --conditions none,everything, damaged ones too: 'bm25?perturbed=half,stale'."
        )
    return found


def labels_of(rows: Sequence[RewardRow]) -> Numbers:
    """Return 1 for each row that kept what was needed, else 0."""
    return np.asarray([bool(row.kept) for row in rows], dtype=float)


def groups_of(rows: Sequence[RewardRow]) -> dict[str, Sequence[str]]:
    """Return the group of each row by what is held out, of which there must be two groups."""
    groups = {"a new memory": [row.memory for row in rows], "a new benchmark": [row.benchmark for row in rows]}
    return {name: own for name, own in groups.items() if len(set(own)) > 1}


def report_rows(rows: Sequence[RewardRow], *, held_out: Mapping[str, Numbers] | None = None) -> RewardReport:
    """Measure floors, and a model where `held_out` has its scores by split, on rows with a label."""
    labels = labels_of(rows)
    clusters = Clusters([row.cluster for row in rows])
    floors = {name: np.asarray([floor(row) for row in rows], dtype=float) for name, floor in FLOORS.items()}
    areas = {name: clusters.estimate(partial(auroc, values, labels)) for name, values in floors.items()}
    best = max(areas, key=lambda name: areas[name].value or 0)
    splits: list[Split] = []
    groups = groups_of(rows)
    for name, scores in (held_out or {}).items():
        measured = {MODEL: clusters.estimate(partial(auroc, scores, labels)), **areas}
        gain = clusters.estimate(partial(_gain, scores, floors[best], labels), within=GAIN)
        count = len(set(groups[name]))
        splits.append(Split(name=name, groups=count, areas=measured, best_floor=best, gain=gain))
    if not splits:
        splits.append(Split(name="nothing", groups=1, areas=areas, best_floor=best, gain=NOTHING))
    model = {MODEL: held_out["a new memory"]} if held_out and "a new memory" in held_out else {}
    return RewardReport(
        rows=len(rows),
        kept=round(float(labels.mean()), 6),
        splits=tuple(splits),
        orders=tuple(_orders(rows, {**model, **floors})),
    )


def auroc(values: Numbers, labels: Numbers, weights: Numbers) -> float:
    """Return the chance that a row that kept scores above one that did not; a tie counts half. nan without both."""
    order = np.argsort(values, kind="stable")
    ranked = values[order]
    kept = (weights * labels)[order]
    lost = (weights * (1 - labels))[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]])
    kept_at = np.add.reduceat(kept, starts)
    lost_at = np.add.reduceat(lost, starts)
    below = np.cumsum(lost_at) - lost_at
    pairs = kept.sum() * lost.sum()
    return float((kept_at * (below + lost_at / 2)).sum() / pairs) if pairs else float("nan")


def _gain(values: Numbers, floor: Numbers, labels: Numbers, weights: Numbers) -> float:
    return auroc(values, labels, weights) - auroc(floor, labels, weights)


class Clusters:
    """The clusters that rows belong to, and measures with an interval over them."""

    def __init__(self, names: Sequence[str]) -> None:
        known, self.places = np.unique(np.asarray(names), return_inverse=True)
        self.count = len(known)

    def estimate(self, measure: Callable[[Numbers], float], *, within: Range = UNIT) -> Estimate:
        """Return a measure of weights over all rows, with its interval."""
        rows = len(self.places)
        without = np.asarray([measure((self.places != place).astype(float)) for place in range(self.count)])
        value = measure(np.ones(rows))
        return Statistic(value, jackknife_variance(without), self.count, rows, "score", within).estimate()


def cells_of(rows: Sequence[RewardRow]) -> dict[tuple[str, str, int], list[int]]:
    """Return the places of the rows of each cell."""
    cells: dict[tuple[str, str, int], list[int]] = {}
    for place, row in enumerate(rows):
        cells.setdefault(row.cell, []).append(place)
    return dict(sorted(cells.items()))


def _orders(rows: Sequence[RewardRow], values: Mapping[str, Numbers]) -> list[Order]:
    from scipy import stats  # late: it takes a second, which whoever writes rows alone need not wait for

    kendall: Any = stats
    labels = labels_of(rows)
    benchmarks: dict[str, list[list[int]]] = {}
    for (benchmark, _, _), places in cells_of(rows).items():
        if not rows[places[0]].perturbed:
            benchmarks.setdefault(benchmark, []).append(places)
    orders: list[Order] = []
    for benchmark, cells in benchmarks.items():
        if len(cells) < LEAST_CELLS:
            continue
        true = [labels[places].mean() for places in cells]
        taus: dict[str, float | None] = {}
        for name, scores in values.items():
            means = [scores[places].mean() for places in cells]
            tau = float(kendall.kendalltau(means, true).statistic)
            taus[name] = None if np.isnan(tau) else rounded(tau)
        orders.append(Order(benchmark=benchmark, cells=len(cells), taus=taus))
    return orders
