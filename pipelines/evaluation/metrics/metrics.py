"""The metrics of section 3.3 and what stands beside them, as `metrics.yaml` lists them.

Counts are by user and period, so that users can be resampled fast: a metric maps summed counts of shape (..., periods) to one
number, or to one for each period. Where the denominator is zero it is nan: it does not exist, which is neither 0 nor 1. An
answer that could not be read is wrong, wherever that would not help: it never raises a score.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import yaml

from assets.amemgym.records.report import LEAST_ROOM
from assets.llm.usage import NANO
from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import UNIT, Array, Metric, Sample, Sums, Tallies, divided, share
from pipelines.evaluation.records import AnswerRow

SCORED = ("right", "wrong", "unknown")
STATE_KINDS = ("state", "state_or_unknown")
MEMORY_KINDS = ("question", "upper_bound")
LOST = ("write", "read", "utilization")
# All that overall, memory and failures follow from. Where runs are compared, sums of these are drawn thousands of times.
MEMORY_COUNTS = (
    *(f"{kind}.{what}" for kind in MEMORY_KINDS for what in ("asked", "right", "scored", "chance")),
    *(f"question.{stage}" for stage in (*LOST, "undiagnosed")),
)
NAMES = (
    *MEMORY_COUNTS,
    *(f"{kind}.{what}" for kind in ("options_only", "no_memory", "facts", "everything") for what in ("asked", "right")),
    *(f"{kind}.{what}" for kind in STATE_KINDS for what in ("asked", "right", "chance", "unknown")),
    *(f"state.fresh_{what}" for what in ("asked", "right", "chance")),
    *(f"question.{stage}_{way}" for stage in LOST for way in ("if_unsure", "corrected")),
    *(f"question.{what}" for what in ("first_option", "stale", "fact_recall")),
    *(f"question.{what}" for what in ("input_tokens", "output_tokens", "nano_usd", "unpriced")),
)


def tally(answers: Sequence[AnswerRow], *, users: Sequence[str], periods: int) -> Tallies:
    """Count. Every name that a metric needs is there, with zeros where nothing was asked."""
    rows = {user: row for row, user in enumerate(users)}
    counts: Sums = {name: np.zeros((len(rows), periods)) for name in NAMES}
    initial = {(row.user_id, row.item): row.expected for row in answers if row.kind == "question" and row.period == 0}
    for answer in answers:
        if answer.user_id in rows:
            for name, amount in _counts(answer, stale=initial.get((answer.user_id, answer.item)) == answer.expected):
                if (counted := counts.get(f"{answer.kind}.{name}")) is not None:
                    counted[rows[answer.user_id], answer.period] += amount
    return Tallies(tuple(users), counts)


def _counts(answer: AnswerRow, *, stale: bool) -> Iterator[tuple[str, float]]:
    """What one answer counts for, by the names behind its kind."""
    right, chance = float(answer.status == "right"), 1 / answer.options if answer.options else 0.0
    yield from (("asked", 1.0), ("right", right), ("chance", chance))
    yield "scored", float(answer.status in SCORED)
    yield "unknown", float(answer.status == "unknown")
    if answer.age == 0:
        yield from (("fresh_asked", 1.0), ("fresh_right", right), ("fresh_chance", chance))
    # A stale memory knows the initial state, and so chooses the option that was right then.
    yield "stale", float(stale)
    yield "first_option", float(answer.shown == 1)
    yield answer.failure, 1.0
    yield f"{answer.failure_if_unsure}_if_unsure", 1.0
    yield "write_corrected", answer.write_share
    yield "read_corrected", answer.read_share
    yield "utilization_corrected", answer.utilization_share
    yield "fact_recall", answer.fact_recall
    yield "input_tokens", float(answer.input_tokens)
    yield "output_tokens", float(answer.output_tokens)
    yield "nano_usd", float(answer.nano_usd or 0)
    yield "unpriced", float(answer.nano_usd is None)


def _normalized(overall: Array, chance: Array, bound: Array) -> Array:
    room = bound - chance
    return divided(overall - chance, np.where(room >= LEAST_ROOM, room, 0.0))


def memory_by_period(sums: Sums) -> Array:
    """(S - S_random) / (S_UB - S_random) in each period; nan where the upper bound is too near to chance."""
    overall, chance = (divided(sums[f"question.{what}"], sums["question.asked"]) for what in ("right", "chance"))
    return _normalized(overall, chance, divided(sums["upper_bound.right"], sums["upper_bound.scored"]))


def memory(sums: Sums) -> Array:
    """The paper's total: the mean of the periods' scores, over those that have one."""
    scores = memory_by_period(sums)
    exists = ~np.isnan(scores)
    return divided(np.where(exists, scores, 0.0).sum(axis=-1), exists.sum(axis=-1).astype(float))


def memory_of_means(sums: Sums) -> Array:
    """The same normalization of the means over all periods, which no single period can dominate."""
    overall, chance = (share(f"question.{what}", "question.asked")(sums) for what in ("right", "chance"))
    return _normalized(overall, chance, share("upper_bound.right", "upper_bound.scored")(sums))


def unscored(sums: Sums) -> Array:
    return 1 - share("question.scored", "question.asked")(sums)


def corrected(kind: str) -> Metric:
    """Right probes beyond those that luck gives: 0 is guessing, and 1 is knowing all."""

    def metric(sums: Sums) -> Array:
        right, asked, luck = (sums[f"{kind}{what}"].sum(axis=-1) for what in ("right", "asked", "chance"))
        return divided(right - luck, asked - luck)

    return metric


def usd_per_1000_answers(sums: Sums) -> Array:
    """nan where nobody knows the price of one of the calls."""
    cost = share("question.nano_usd", "question.asked")(sums) * 1000 / NANO
    return np.where(sums["question.unpriced"].sum(axis=-1) > 0, np.nan, cost)


# Metrics that are no quotient of two counts.
FUNCTIONS: dict[str, Metric] = {
    "memory": memory,
    "memory_of_means": memory_of_means,
    "unscored": unscored,
    "state_recall_corrected": corrected("state."),
    "state_recall_when_told_corrected": corrected("state.fresh_"),
    "usd_per_1000_answers": usd_per_1000_answers,
}


class MetricEntry(Record):
    """A line of the table. `group` "score" stands on the front page, "detail" further down."""

    name: str
    group: Literal["score", "detail", "baseline", "cost"]
    of: Literal["all", "dialogues", "documents"]
    meaning: str
    formula: str
    board: bool = False
    by_period: bool = False
    exact: bool = False

    @property
    def metric(self) -> Metric:
        """One number."""
        return FUNCTIONS.get(self.name) or share(*self._counts)

    @property
    def period_metric(self) -> Metric:
        """One number for each period."""
        if self.name == "memory":
            return memory_by_period
        above, below = self._counts
        return lambda sums: divided(sums[above], sums[below])

    def estimates(self, sample: Sample, *, each_period: bool = False) -> tuple[Estimate, ...]:
        """Its value with an interval, or one for each period; what is exact has none."""
        within = None if self.group == "cost" else UNIT
        found = sample.estimates(self.period_metric if each_period else self.metric, within=within)
        return tuple(Estimate(value=one.value, low=None, high=None) for one in found) if self.exact else found

    @property
    def _counts(self) -> tuple[str, str]:
        above, below = (name if "." in name else f"question.{name}" for name in self.formula.split(" / "))
        return above, below


def _table() -> tuple[MetricEntry, ...]:
    rows: list[dict[str, object]] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return tuple(map(MetricEntry.model_validate, rows))


TABLE = _table()
METRICS: dict[str, Metric] = {entry.name: entry.metric for entry in TABLE if entry.group in ("score", "detail")}
FRONT = tuple(entry.name for entry in TABLE if entry.group == "score")
BOARD = tuple(entry.name for entry in TABLE if entry.board)
BASELINES = tuple(entry.name for entry in TABLE if entry.group == "baseline")
ASKING_BASELINES = BASELINES[:5]
