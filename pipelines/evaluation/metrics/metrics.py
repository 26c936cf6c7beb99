"""The metrics of section 3.3 and those beside them, as `metrics.yaml` lists them.

Counts are by user and period: a metric maps summed counts of shape (..., periods) to one number, or to one for each period.
Where the denominator is zero it is nan: it does not exist, which is neither 0 nor 1. An answer that could not be read is
wrong, wherever that would not help: it never raises a score.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import yaml

from assets.llm.usage import NANO
from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import Array, Metric, Sums, Tallies, divide, quotient, share, share_of_room
from pipelines.evaluation.records import AnswerRow, Failure, Mode, Stage

ASKED = "question.asked"
SCORED = ("right", "wrong", "unknown")
# All that overall, memory and failures follow from, and all that is compared between runs.
MEMORY_COUNTS = (
    *(f"question.{what}" for what in ("asked", "right", "scored", "chance")),
    *(f"question.{what}" for what in dict.fromkeys((*get_args(Failure)[1:], *get_args(Stage)[1:]))),
    *(f"upper_bound.{what}" for what in ("asked", "right", "scored", "chance")),
    "state.asked",
)
OTHER_KINDS = ("state", "options_only", "no_memory", "facts", "everything")
NAMES = (
    *MEMORY_COUNTS,
    *(f"{kind}.asked" for kind in OTHER_KINDS),
    *(f"{kind}.right" for kind in OTHER_KINDS),
    *(f"question.{what}" for what in ("fact_recall", "input_tokens", "output_tokens")),
    *(f"question.{what}" for what in ("evidence", "evidence_recalled", "recalled_events", "whole_evidence", "used_evidence")),
    "question.nano_usd",
    "question.unpriced",
)


def tally_answers(answers: Sequence[AnswerRow], *, users: Sequence[str], periods: int) -> Tallies:
    """Count. Every name that a metric needs is there, with zeros where nothing was asked."""
    rows = dict(zip(users, range(len(users)), strict=True))
    counts: Sums = {name: np.zeros((len(rows), periods)) for name in NAMES}
    for answer in answers:
        if answer.user_id not in rows:
            continue
        for name, amount in _counts(answer).items():
            counted = counts.get(f"{answer.kind}.{name}")
            if counted is not None:
                counted[rows[answer.user_id], answer.period] += amount
    return Tallies(tuple(users), counts)


def _counts(answer: AnswerRow) -> dict[str, float]:
    """Return what one answer counts for, by the names behind its kind."""
    whole_evidence = 0 < answer.evidence == answer.evidence_recalled
    return {
        answer.failure: 1.0,
        answer.stage: 1.0,
        "asked": 1.0,
        "right": float(answer.status == "right"),
        "scored": float(answer.status in SCORED),
        "chance": 1 / answer.options if answer.options else 0.0,
        "fact_recall": answer.fact_recall or 0.0,
        "evidence": float(answer.evidence),
        "evidence_recalled": float(answer.evidence_recalled),
        "recalled_events": float(answer.recalled_events),
        "whole_evidence": float(whole_evidence),
        "used_evidence": float(whole_evidence and answer.status == "right"),
        "input_tokens": float(answer.input_tokens),
        "output_tokens": float(answer.output_tokens),
        "nano_usd": float(answer.nano_usd or 0),
        "unpriced": float(answer.nano_usd is None),
    }


def memory_by_period(sums: Sums) -> Array:
    """Return (S - S_random) / (S_UB - S_random) in each period; nan where the upper bound is too near to chance."""
    overall = divide(sums["question.right"], sums["question.asked"])
    chance = divide(sums["question.chance"], sums["question.asked"])
    bound = divide(sums["upper_bound.right"], sums["upper_bound.scored"])
    return share_of_room(overall - chance, bound - chance)


def memory_score(sums: Sums) -> Array:
    """Return the paper's total: the mean of the periods' scores, over those that have one."""
    scores = memory_by_period(sums)
    exists = ~np.isnan(scores)
    return divide(np.where(exists, scores, 0.0).sum(axis=-1), exists.sum(axis=-1).astype(float))


def unscored_share(sums: Sums) -> Array:
    return 1 - share("question.scored", "question.asked")(sums)


def reasoner_usd_per_1000_answers(sums: Sums) -> Array:
    """Return list prices; nan where nobody knows the price of one of the calls."""
    cost = share("question.nano_usd", "question.asked")(sums) * 1000 / NANO
    return np.where(sums["question.unpriced"].sum(axis=-1) > 0, np.nan, cost)


# Metrics that are no quotient of two counts.
FUNCTIONS: dict[str, Metric] = {
    "memory": Metric(memory_score, ASKED),
    "unscored": Metric(unscored_share, ASKED, "share"),
    "reasoner_usd_per_1000_answers": Metric(reasoner_usd_per_1000_answers, ASKED, "amount"),
}


class MetricEntry(Record):
    """A line of the table of metrics."""

    name: str
    group: Literal["score", "baseline", "cost"]
    of: tuple[Mode, ...] = ()  # all, where none is named
    meaning: str
    formula: str
    board: bool = False
    by_period: bool = False
    probed: bool = False
    exact: bool = False

    @property
    def metric(self) -> Metric:
        """One number."""
        if self.group == "cost":
            return FUNCTIONS.get(self.name) or quotient(*self._counts, kind="amount", within=None)
        found = FUNCTIONS.get(self.name) or share(*self._counts)
        if not self.probed:
            return found
        return found.where(lambda sums: sums["state.asked"].sum(axis=-1) > 0)

    @property
    def period_metric(self) -> Metric:
        """One number for each period."""
        if self.name == "memory":
            return Metric(memory_by_period, ASKED)
        found = share(*self._counts, each_period=True)
        if not self.probed:
            return found
        return found.where(lambda sums: sums["state.asked"] > 0)

    def estimates(self, tallies: Tallies, *, each_period: bool = False) -> tuple[Estimate, ...]:
        """Its value with an interval, or one for each period; what is exact has none."""
        found = tallies.estimates(self.period_metric if each_period else self.metric)
        if not self.exact:
            return found
        return tuple(Estimate(value=estimate.value, low=None, high=None) for estimate in found)

    @property
    def _counts(self) -> tuple[str, str]:
        above, below = self.formula.split(" / ")
        return _count_name(above), _count_name(below)


def _count_name(name: str) -> str:
    """Return the name of a count; the table leaves out the kind where it is a question."""
    return name if "." in name else f"question.{name}"


def _table() -> tuple[MetricEntry, ...]:
    text = Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8")
    rows: list[dict[str, object]] = yaml.load(text, Loader=yaml.CSafeLoader)
    return tuple(map(MetricEntry.model_validate, rows))


TABLE = _table()
METRICS: dict[str, Metric] = {entry.name: entry.metric for entry in TABLE if entry.group == "score"}
BOARD = tuple(entry.name for entry in TABLE if entry.board)
BASELINES = tuple(entry.name for entry in TABLE if entry.group == "baseline")
ASKING_BASELINES = BASELINES[:5]
