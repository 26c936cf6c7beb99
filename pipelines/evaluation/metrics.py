"""The metrics of section 3.3 and the baselines beside them, each a function of summed counts (..., periods).

A metric whose denominator is zero is nan: it does not exist, which is neither 0 nor 1.
"""

import numpy as np

from pipelines.evaluation.tallies import Array, Metric, Sums


def divided(above: Array, below: Array) -> Array:
    """The quotient, nan where the denominator is zero."""
    return np.divide(above, below, out=np.full(np.broadcast(above, below).shape, np.nan), where=below != 0)


def share(above: str, below: str) -> Metric:
    """Counts over all periods, one divided by the other."""
    return lambda sums: divided(sums[above].sum(axis=-1), sums[below].sum(axis=-1))


def each_period(above: str, below: str) -> Metric:
    """The same period by period."""
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


METRICS: dict[str, Metric] = {
    "overall": share("question.right", "question.scored"),
    "overall_unscored_as_wrong": share("question.right", "question.asked"),
    "memory": memory,
    "memory_of_means": memory_of_means,
    "write_failure": share("write", "question.scored"),
    "read_failure": share("read", "question.scored"),
    "utilization_failure": share("utilization", "question.scored"),
    "undiagnosed": share("undiagnosed", "question.scored"),
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
SERIES: dict[str, Metric] = {
    "overall": each_period("question.right", "question.scored"),
    "memory": memory_by_period,
    "upper_bound": each_period("upper_bound.right", "upper_bound.scored"),
    "random": each_period("question.chance", "question.scored"),
    "write_failure": each_period("write", "question.scored"),
    "read_failure": each_period("read", "question.scored"),
    "utilization_failure": each_period("utilization", "question.scored"),
}
