"""How well values tell rows that kept what was needed, with intervals over clusters of rows."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assets.records.estimate import Estimate
from assets.reporting.intervals import rounded, tail_share

Numbers = NDArray[np.float64]
Measure = Callable[[Numbers, Numbers, Numbers], float]
RESAMPLES = 200
SAFE = 0.5  # from which value on a row is taken to have kept what was needed
BINS = 15


def auroc(values: Numbers, labels: Numbers, weights: Numbers | None = None) -> float:
    """Return the chance that a row that kept scores above one that did not; a tie counts half. nan without both."""
    weights = np.ones(len(values)) if weights is None else weights
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


def average_precision(values: Numbers, labels: Numbers, weights: Numbers) -> float:
    """Return the area under precision by recall (PR-AUC), of rows that kept."""
    order = np.argsort(-values, kind="stable")
    ranked = values[order]
    kept = (weights * labels)[order]
    every = weights[order]
    ends = np.flatnonzero(np.r_[ranked[1:] != ranked[:-1], True])
    found = np.cumsum(kept)[ends]
    seen = np.cumsum(every)[ends]
    if not kept.sum():
        return float("nan")
    precision = np.divide(found, seen, out=np.zeros_like(found), where=seen > 0)
    return float((np.diff(np.r_[0.0, found]) * precision).sum() / kept.sum())


def safe_f1(values: Numbers, labels: Numbers, weights: Numbers) -> float:
    """Return the F1 of "kept" at a value of one half."""
    safe = values >= SAFE
    both = (weights * labels * safe).sum()
    total = (weights * labels).sum() + (weights * safe).sum()
    return float(2 * both / total) if total else float("nan")


def calibration_error(values: Numbers, labels: Numbers, weights: Numbers) -> float:
    """Return the expected calibration error over bins of equal mass (ECE)."""
    places = np.array_split(np.argsort(values, kind="stable"), BINS)
    error = total = 0.0
    for place in places:
        mass = weights[place].sum()
        if mass:
            error += abs((weights[place] * (values[place] - labels[place])).sum())
            total += mass
    return float(error / total) if total else float("nan")


class Clusters:
    """Resamples of clusters, the same for every measure of the same rows."""

    def __init__(self, names: Sequence[str], *, seed: int) -> None:
        self.known, self.places = np.unique(np.asarray(names), return_inverse=True)
        count = len(self.known)
        chance = np.random.Generator(np.random.PCG64(seed))
        self.draws = chance.multinomial(count, np.full(count, 1 / count), size=RESAMPLES).astype(float)

    def measure(self, measure: Measure, values: Numbers, labels: Numbers) -> Estimate:
        """Return a measure of values and labels over all rows, with its interval."""
        # Sorted once: what is in order is sorted again for each resample in no time.
        order = np.argsort(values, kind="stable")
        return self.estimate(partial(measure, values[order], labels[order]), order=order)

    def estimate(self, of: Callable[[Numbers], float], *, order: NDArray[np.int64] | None = None) -> Estimate:
        """Return a measure of weights over all rows, in this order, with its interval."""
        places = self.places if order is None else self.places[order]
        value = of(np.ones(len(places)))
        count = len(self.known)
        if np.isnan(value) or count < 2:
            return Estimate(value=rounded(value), low=None, high=None)
        drawn: Any = np.asarray([of(draw[places]) for draw in self.draws])
        drawn = drawn[~np.isnan(drawn)]
        if not len(drawn):
            return Estimate(value=rounded(value), low=None, high=None)
        tail = tail_share(count)
        low, high = np.quantile(drawn, [tail, 1 - tail])
        return Estimate(value=rounded(value), low=rounded(low), high=rounded(high))


def kendall_tau(predicted: Sequence[float], true: Sequence[float]) -> float:
    """Return Kendall's tau-b of two orders; nan where one has no order."""
    from scipy import stats

    found: Any = stats
    return float(found.kendalltau(predicted, true).statistic)
