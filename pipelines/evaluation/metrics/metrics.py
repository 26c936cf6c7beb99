"""The metrics of section 3.3 and what stands beside them: one table of name, meaning, formula and function.

Report, page and boards are drawn from `TABLE`. Functions are of counts by user and period, so that users can be resampled
fast: they map summed counts of shape (..., periods) to one number, or to one for each period. A metric whose denominator is
zero is nan: it does not exist, which is neither 0 nor 1. An answer that could not be read is wrong, wherever that would not
help: it never raises a score.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from assets.amemgym.records.report import LEAST_ROOM
from assets.llm.usage import NANO
from assets.reporting.intervals import Array, Metric, Sums, Tallies, divided, share
from pipelines.evaluation.records import AnswerRow

SCORED = ("right", "wrong", "unknown")
STATE_KINDS = ("state", "state_or_unknown")
LOST = ("write", "read", "utilization", "undiagnosed")
MEMORY_KINDS = ("question", "upper_bound")
CHOICE_KINDS = ("question", "upper_bound", "options_only", "no_memory", "facts", "everything")
# All that overall, memory and failures follow from. Where runs are compared, sums of these are drawn thousands of times.
MEMORY_COUNTS = (*(f"{kind}.{what}" for kind in MEMORY_KINDS for what in ("asked", "right", "scored", "chance")), *LOST)


def tally(answers: Sequence[AnswerRow], *, users: Sequence[str], periods: int) -> Tallies:
    """Count. Every name that a metric needs is there, with zeros where nothing was asked."""
    rows = {user: row for row, user in enumerate(users)}
    counts: Sums = {name: np.zeros((len(rows), periods)) for name in NAMES}
    initial = {(row.user_id, row.item): row.expected for row in answers if row.kind == "question" and row.period == 0}
    for answer in answers:
        if answer.user_id in rows and answer.kind != "at_budget":
            for name, amount in _counts(answer, stale=initial.get((answer.user_id, answer.item)) == answer.expected):
                counts[name][rows[answer.user_id], answer.period] += amount
    return Tallies(tuple(users), counts)


def _counts(answer: AnswerRow, *, stale: bool) -> Iterator[tuple[str, float]]:
    kind = answer.kind
    yield f"{kind}.asked", 1.0
    yield f"{kind}.scored", float(answer.status in SCORED)
    yield f"{kind}.right", float(answer.status == "right")
    yield f"{kind}.unknown", float(answer.status == "unknown")
    yield f"{kind}.chance", 1 / answer.options if answer.options else 0.0
    if kind in STATE_KINDS and answer.age == 0:
        yield f"{kind}.fresh_asked", 1.0
        yield f"{kind}.fresh_right", float(answer.status == "right")
        yield f"{kind}.fresh_chance", 1 / answer.options
    if kind == "question":
        # A stale memory knows the initial state, and so chooses the option that was right then.
        yield "question.stale", float(stale)
        yield "question.first_option", float(answer.shown == 1)
        for suffix, failure in (("", answer.failure), ("_if_unsure", answer.failure_if_unsure)):
            if failure:
                yield f"{failure}{suffix}", 1.0
        yield "write_corrected", answer.write_share
        yield "read_corrected", answer.read_share
        yield "utilization_corrected", answer.utilization_share
        yield "question.fact_recall", answer.fact_recall
        yield "question.input_tokens", float(answer.input_tokens)
        yield "question.output_tokens", float(answer.output_tokens)
        yield "question.nano_usd", float(answer.nano_usd or 0)
        yield "question.unpriced", float(answer.nano_usd is None)


def _names() -> tuple[str, ...]:
    each = [
        f"{kind}.{what}" for kind in (*CHOICE_KINDS, *STATE_KINDS) for what in ("asked", "scored", "right", "unknown", "chance")
    ]
    fresh = [f"{kind}.fresh_{what}" for kind in STATE_KINDS for what in ("asked", "right", "chance")]
    lost = [f"{name}{suffix}" for name in LOST for suffix in ("", "_if_unsure")]
    corrected = [f"{name}_corrected" for name in ("write", "read", "utilization")]
    taken = [f"question.{what}" for what in ("input_tokens", "output_tokens", "nano_usd", "unpriced")]
    return (*each, *fresh, *lost, *corrected, *taken, "question.first_option", "question.stale", "question.fact_recall")


NAMES = _names()


def each_period(above: str, below: str) -> Metric:
    """The quotient of two counts in each period."""
    return lambda sums: divided(sums[above], sums[below])


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


def recall(kind: str, *, fresh: bool = False, corrected: bool = False) -> Metric:
    """State probes answered rightly; `fresh`: at the write position; `corrected`: 0 is guessing and 1 is knowing all."""
    prefix = f"{kind}.fresh_" if fresh else f"{kind}."

    def metric(sums: Sums) -> Array:
        right, asked = sums[f"{prefix}right"].sum(axis=-1), sums[f"{prefix}asked"].sum(axis=-1)
        luck = sums[f"{prefix}chance"].sum(axis=-1) if corrected else np.zeros_like(right)
        return divided(right - luck, asked - luck)

    return metric


def unscored(sums: Sums) -> Array:
    """The share of questions whose answer could not be read, or was never given."""
    return 1 - share("question.scored", "question.asked")(sums)


def usd_per_1000_answers(sums: Sums) -> Array:
    """Money for a thousand questions; nan where nobody knows the price of one of the calls."""
    cost = divided(sums["question.nano_usd"].sum(axis=-1), sums["question.asked"].sum(axis=-1)) * 1000 / NANO
    return np.where(sums["question.unpriced"].sum(axis=-1) > 0, np.nan, cost)


Group = Literal["score", "detail", "baseline", "cost"]
Scope = Literal["all", "dialogues", "documents"]


@dataclass(frozen=True)
class MetricEntry:
    """One metric. `group` "score" stands on the front page, "detail" further down. `board`: a column of leaderboards.

    `of`: the benchmarks that have it, those of dialogues, of documents in turns, or all.
    """

    name: str
    group: Group
    meaning: str
    formula: str
    metric: Metric
    by_period: Metric | None = None
    board: bool = False
    of: Scope = "dialogues"


def _failure(stage: str, meaning: str) -> MetricEntry:
    name = f"{stage}_failure"
    by_period = each_period(stage, "question.asked")
    return MetricEntry(name, "score", meaning, f"{stage} / asked", share(stage, "question.asked"), by_period, board=True)


def _variant(stage: str, suffix: str, meaning: str) -> MetricEntry:
    counted = f"{stage}_{suffix}"
    return MetricEntry(f"{stage}_failure_{suffix}", "detail", meaning, f"{counted} / asked", share(counted, "question.asked"))


TABLE: tuple[MetricEntry, ...] = (
    MetricEntry(
        "overall",
        "score",
        "questions answered rightly; an answer that cannot be read is wrong",
        "right / asked",
        share("question.right", "question.asked"),
        each_period("question.right", "question.asked"),
        board=True,
        of="all",
    ),
    MetricEntry(
        "memory",
        "score",
        "between random (0) and the upper bound (1): mean of the periods' scores, the paper's way",
        "mean of (overall - random) / (upper bound - random)",
        memory,
        memory_by_period,
        board=True,
    ),
    MetricEntry(
        "memory_of_means",
        "score",
        "the same of the means over all periods",
        "(overall - random) / (upper bound - random)",
        memory_of_means,
    ),
    _failure("write", "wrong, and a needed value was not known even when it had just been told"),
    _failure("read", "wrong, and a needed value was known when told, but not any more"),
    _failure("utilization", "wrong, although every needed value is known"),
    MetricEntry(
        "undiagnosed",
        "score",
        "wrong, and the deciding state probe could not be read",
        "undiagnosed / asked",
        share("undiagnosed", "question.asked"),
    ),
    MetricEntry(
        "unscored", "score", "answers that could not be read; they count as wrong", "1 - readable / asked", unscored, of="all"
    ),
    MetricEntry(
        "overall_of_readable",
        "score",
        "right of the readable answers alone, the paper's way",
        "right / readable",
        share("question.right", "question.scored"),
        of="all",
    ),
    MetricEntry(
        "fact_recall",
        "score",
        "needed values that are in what the memory gave back",
        "mean share",
        share("question.fact_recall", "question.asked"),
        board=True,
        of="documents",
    ),
    MetricEntry("state_recall", "score", "state probes answered rightly", "right / probes", recall("state"), board=True),
    MetricEntry(
        "state_recall_corrected",
        "detail",
        "the same, corrected for guessing (0: guessing, 1: all known)",
        "(right - chance) / (probes - chance)",
        recall("state", corrected=True),
    ),
    MetricEntry(
        "state_recall_when_told_corrected",
        "detail",
        "the same at the end of the period in which the value was told",
        "(right - chance) / (probes - chance), where age = 0",
        recall("state", fresh=True, corrected=True),
    ),
    *(
        _variant(stage, "corrected", f"{stage} failure, corrected for guessed probes; small rates may fall below 0")
        for stage in ("write", "read", "utilization")
    ),
    *(
        _variant(stage, "if_unsure", f'{stage} failure by the probes that allow "don\'t know"')
        for stage in ("write", "read", "utilization")
    ),
    MetricEntry(
        "state_recall_if_unsure",
        "detail",
        'state probes answered rightly where "don\'t know" is allowed',
        "right / probes",
        recall("state_or_unknown"),
    ),
    MetricEntry(
        "state_unknown",
        "detail",
        'state probes answered with "don\'t know"',
        "unknown / probes",
        share("state_or_unknown.unknown", "state_or_unknown.asked"),
    ),
    MetricEntry(
        "upper_bound",
        "baseline",
        "our reasoner with the true state laid open",
        "right / readable",
        share("upper_bound.right", "upper_bound.scored"),
        each_period("upper_bound.right", "upper_bound.scored"),
    ),
    MetricEntry(
        "everything",
        "baseline",
        "our reasoner with all that was perceived (F)",
        "right / asked",
        share("everything.right", "everything.asked"),
        of="all",
    ),
    MetricEntry(
        "needed_facts",
        "baseline",
        "our reasoner with what told the needed values (O)",
        "right / asked",
        share("facts.right", "facts.asked"),
        of="all",
    ),
    MetricEntry(
        "no_memory",
        "baseline",
        "our reasoner with the question alone, options included (N)",
        "right / asked",
        share("no_memory.right", "no_memory.asked"),
        of="all",
    ),
    MetricEntry(
        "options_only",
        "baseline",
        "our reasoner with the options alone",
        "right / asked",
        share("options_only.right", "options_only.asked"),
    ),
    MetricEntry(
        "stale",
        "baseline",
        "always the option that was right at the start",
        "closed form",
        share("question.stale", "question.asked"),
    ),
    MetricEntry(
        "constant",
        "baseline",
        "always the first option shown",
        "closed form",
        share("question.first_option", "question.asked"),
    ),
    MetricEntry(
        "random",
        "baseline",
        "a uniform guess",
        "mean of 1 / options",
        share("question.chance", "question.asked"),
        each_period("question.chance", "question.asked"),
        of="all",
    ),
    MetricEntry(
        "input_tokens_per_answer",
        "cost",
        "tokens sent for one question",
        "sum / asked",
        share("question.input_tokens", "question.asked"),
        of="all",
    ),
    MetricEntry(
        "output_tokens_per_answer",
        "cost",
        "tokens received for one question",
        "sum / asked",
        share("question.output_tokens", "question.asked"),
        of="all",
    ),
    MetricEntry(
        "usd_per_1000_answers",
        "cost",
        "list price of a thousand questions",
        "1000 sum / asked",
        usd_per_1000_answers,
        of="all",
    ),
)
METRICS: dict[str, Metric] = {entry.name: entry.metric for entry in TABLE if entry.group in ("score", "detail")}
MEANINGS = {entry.name: entry.meaning for entry in TABLE}
FRONT = tuple(entry.name for entry in TABLE if entry.group == "score")
BOARD = tuple(entry.name for entry in TABLE if entry.board)
BASELINES = tuple(entry.name for entry in TABLE if entry.group == "baseline")
ASKING_BASELINES = BASELINES[:5]  # these ask the reasoner
