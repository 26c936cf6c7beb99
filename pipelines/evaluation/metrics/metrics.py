"""The metrics of section 3.3 and the baselines beside them, each a function of counts by user and period.

The counts are arrays, so that users can be resampled fast. A metric maps summed counts of shape (..., periods) to one
number. A metric whose denominator is zero is nan: it does not exist, which is neither 0 nor 1.
"""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from assets.llm.usage import NANO
from assets.reporting.intervals import Array, Metric, Sums, Tallies, divided, share
from pipelines.evaluation.records import AnswerRow

SCORED = ("right", "wrong", "unknown")
STATE_KINDS = ("state", "state_or_unknown")
LOST = ("write", "read", "utilization", "undiagnosed")
MEMORY_KINDS = ("question", "upper_bound")
# All that overall, memory and failures follow from. Where runs are compared, sums of these are drawn thousands of times.
MEMORY_COUNTS = (*(f"{kind}.{what}" for kind in MEMORY_KINDS for what in ("right", "scored", "chance")), *LOST)


def tally(answers: Sequence[AnswerRow], *, users: Sequence[str], periods: int) -> Tallies:
    """Count. Every name that a metric needs is there, with zeros where nothing was asked."""
    rows = {user: row for row, user in enumerate(users)}
    counts: Sums = {name: np.zeros((len(rows), periods)) for name in NAMES}
    for answer in answers:
        if answer.user_id in rows:
            for name, amount in _counts(answer):
                counts[name][rows[answer.user_id], answer.period] += amount
    _add_stale(counts, answers, rows)
    return Tallies(tuple(users), counts)


def _counts(answer: AnswerRow) -> Iterator[tuple[str, float]]:
    scored = answer.status in SCORED
    yield f"{answer.kind}.asked", 1.0
    yield f"{answer.kind}.scored", float(scored)
    yield f"{answer.kind}.right", float(answer.status == "right")
    yield f"{answer.kind}.unknown", float(answer.status == "unknown")
    yield f"{answer.kind}.chance", scored / answer.options
    if answer.kind in STATE_KINDS and answer.age == 0:
        yield f"{answer.kind}.fresh_scored", float(scored)
        yield f"{answer.kind}.fresh_right", float(answer.status == "right")
        yield f"{answer.kind}.fresh_chance", scored / answer.options
    if answer.kind == "question":
        yield "question.first_option", float(answer.shown == 1)
        for suffix, failure in (("", answer.failure), ("_if_unsure", answer.failure_if_unsure)):
            if failure:
                yield f"{failure}{suffix}", 1.0
        yield from _corrected_failures(answer)
        yield from _usage_counts(answer)


def _corrected_failures(answer: AnswerRow) -> Iterator[tuple[str, float]]:
    yield "write_corrected", answer.write_share
    yield "read_corrected", answer.read_share
    yield "utilization_corrected", answer.utilization_share


def _usage_counts(answer: AnswerRow) -> Iterator[tuple[str, float]]:
    yield "question.input_tokens", float(answer.input_tokens)
    yield "question.output_tokens", float(answer.output_tokens)
    yield "question.nano_usd", float(answer.nano_usd or 0)
    yield "question.unpriced", float(answer.nano_usd is None)


def _add_stale(counts: Sums, answers: Iterable[AnswerRow], rows: dict[str, int]) -> None:
    """A stale memory knows the initial state, and so chooses the option that was right then."""
    questions = [answer for answer in answers if answer.kind == "question" and answer.user_id in rows]
    initial = {(answer.user_id, answer.item): answer.expected for answer in questions if answer.period == 0}
    for answer in questions:
        still = initial.get((answer.user_id, answer.item)) == answer.expected
        counts["question.stale"][rows[answer.user_id], answer.period] += still


def _names() -> tuple[str, ...]:
    kinds = ("question", *STATE_KINDS, "upper_bound", "options_only", "no_memory")
    each = [f"{kind}.{what}" for kind in kinds for what in ("asked", "scored", "right", "unknown", "chance")]
    fresh = [f"{kind}.fresh_{what}" for kind in STATE_KINDS for what in ("scored", "right", "chance")]
    lost = [f"{name}{suffix}" for name in LOST for suffix in ("", "_if_unsure")]
    corrected = [f"{name}_corrected" for name in ("write", "read", "utilization")]
    taken = [f"question.{what}" for what in ("input_tokens", "output_tokens", "nano_usd", "unpriced")]
    return (*each, *fresh, *lost, *corrected, *taken, "question.first_option", "question.stale")


NAMES = _names()


def each_period(above: str, below: str) -> Metric:
    """The quotient of two counts in each period."""
    return lambda sums: divided(sums[above], sums[below])


def memory_by_period(sums: Sums) -> Array:
    """(S - S_random) / (S_UB - S_random) in each period; nan where the upper bound is no better than chance."""
    overall = divided(sums["question.right"], sums["question.scored"])
    chance = divided(sums["question.chance"], sums["question.scored"])
    bound = divided(sums["upper_bound.right"], sums["upper_bound.scored"])
    room = bound - chance
    return divided(overall - chance, np.where(room > 1e-9, room, 0.0))


def memory(sums: Sums) -> Array:
    """The paper's total: the mean of the periods' scores, over those that have one."""
    scores = memory_by_period(sums)
    exists = ~np.isnan(scores)
    return divided(np.where(exists, scores, 0.0).sum(axis=-1), exists.sum(axis=-1).astype(float))


def memory_of_means(sums: Sums) -> Array:
    """The same normalization of the means over all periods, which no single period can dominate."""
    overall = share("question.right", "question.scored")(sums)
    chance = share("question.chance", "question.scored")(sums)
    bound = share("upper_bound.right", "upper_bound.scored")(sums)
    return divided(overall - chance, np.where(bound - chance > 1e-9, bound - chance, 0.0))


def recall(kind: str, *, fresh: bool = False, corrected: bool = False) -> Metric:
    """State probes answered rightly; `fresh`: at the write position; `corrected`: 0 is guessing and 1 is knowing all."""
    prefix = f"{kind}.fresh_" if fresh else f"{kind}."

    def metric(sums: Sums) -> Array:
        right, scored = sums[f"{prefix}right"].sum(axis=-1), sums[f"{prefix}scored"].sum(axis=-1)
        luck = sums[f"{prefix}chance"].sum(axis=-1) if corrected else np.zeros_like(right)
        return divided(right - luck, scored - luck)

    return metric


def usd_per_1000_answers(sums: Sums) -> Array:
    """Money for a thousand questions; nan where nobody knows the price of one of the calls."""
    cost = divided(sums["question.nano_usd"].sum(axis=-1), sums["question.asked"].sum(axis=-1)) * 1000 / NANO
    return np.where(sums["question.unpriced"].sum(axis=-1) > 0, np.nan, cost)


METRICS: dict[str, Metric] = {
    "overall": share("question.right", "question.scored"),
    "overall_unscored_as_wrong": share("question.right", "question.asked"),
    "memory": memory,
    "memory_of_means": memory_of_means,
    "write_failure": share("write", "question.scored"),
    "read_failure": share("read", "question.scored"),
    "utilization_failure": share("utilization", "question.scored"),
    "undiagnosed": share("undiagnosed", "question.scored"),
    "write_failure_corrected": share("write_corrected", "question.scored"),
    "read_failure_corrected": share("read_corrected", "question.scored"),
    "utilization_failure_corrected": share("utilization_corrected", "question.scored"),
    "write_failure_if_unsure": share("write_if_unsure", "question.scored"),
    "read_failure_if_unsure": share("read_if_unsure", "question.scored"),
    "utilization_failure_if_unsure": share("utilization_if_unsure", "question.scored"),
    "state_recall": recall("state"),
    "state_recall_corrected": recall("state", corrected=True),
    "state_recall_when_told_corrected": recall("state", fresh=True, corrected=True),
    "state_recall_if_unsure": recall("state_or_unknown"),
    "state_unknown": share("state_or_unknown.unknown", "state_or_unknown.scored"),
}
BASELINES: dict[str, Metric] = {
    "random": share("question.chance", "question.scored"),
    "upper_bound": share("upper_bound.right", "upper_bound.scored"),
    "options_only": share("options_only.right", "options_only.scored"),
    "no_memory": share("no_memory.right", "no_memory.scored"),
    "constant": share("question.first_option", "question.asked"),
    "stale": share("question.stale", "question.asked"),
}
COSTS: dict[str, Metric] = {
    "input_tokens_per_answer": share("question.input_tokens", "question.asked"),
    "output_tokens_per_answer": share("question.output_tokens", "question.asked"),
    "usd_per_1000_answers": usd_per_1000_answers,
}
PERIOD_METRICS: dict[str, Metric] = {
    "overall": each_period("question.right", "question.scored"),
    "memory": memory_by_period,
    "upper_bound": each_period("upper_bound.right", "upper_bound.scored"),
    "random": each_period("question.chance", "question.scored"),
    "write_failure": each_period("write", "question.scored"),
    "read_failure": each_period("read", "question.scored"),
    "utilization_failure": each_period("utilization", "question.scored"),
}
