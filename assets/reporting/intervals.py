"""Sampling error over users: bootstrap intervals of shares and of whatever else follows from counts per user.

Users are the unit, because the questions about one user depend on each other. numpy and scipy are imported here: whoever is
loaded with the definitions imports this module inside a function.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from assets.records.estimate import Estimate

Array = NDArray[np.float64]
Sums = dict[str, Array]
Metric = Callable[[Sums], Array]
RESAMPLES = 4000
# All weights of 10,000 users at once would take 640 MB.
WEIGHTS_AT_ONCE = 1_000_000
CONFIDENCE = 0.95
DIGITS = 6
SAME = 1e-9  # users whose values differ by less are alike
Range = tuple[float, float]
UNIT: Range = (0.0, 1.0)  # of a share
GAIN: Range = (-1.0, 1.0)  # of a difference between two shares


@dataclass(frozen=True)
class Tallies:
    """Counts by name, each of shape (users, periods)."""

    users: tuple[str, ...]
    counts: Sums

    @classmethod
    def of(cls, counts: Mapping[str, Mapping[str, float]], *, names: Sequence[str]) -> "Tallies":
        """Return counts of these names from those of each user, which may lack some; all are of one period."""
        found: Sums = {}
        for name in names:
            found[name] = np.array([[own.get(name, 0.0)] for own in counts.values()], dtype=float)
        return cls(tuple(counts), found)

    def sums(self, weights: Array) -> Sums:
        """Counts over users taken so many times each: weights (..., users) give sums (..., periods)."""
        return {name: weights @ count for name, count in self.counts.items()}

    def total(self) -> Sums:
        """Counts over all users, each once."""
        return self.sums(np.ones(len(self.users)))


@dataclass(frozen=True)
class Sample:
    """Summed counts: of each user, over all users, and over the users of each resample (resamples, periods)."""

    users: int
    each: Sums
    total: Sums
    drawn: Sums

    @classmethod
    def of(cls, tallies: Tallies, *, seed: int) -> "Sample":
        """Draw users with replacement, as many as there are; the same users for the same seed."""
        users = len(tallies.users)
        chance = np.random.Generator(np.random.PCG64(seed))
        shares = np.full(users, 1 / users)
        at_once = max(1, WEIGHTS_AT_ONCE // users)
        blocks: list[Sums] = []
        for start in range(0, RESAMPLES, at_once):
            weights = chance.multinomial(users, shares, size=min(at_once, RESAMPLES - start))
            blocks.append(tallies.sums(weights.astype(float)))
        drawn: Sums = {}
        for name in tallies.counts:
            drawn[name] = np.concatenate([block[name] for block in blocks])
        return cls(users, tallies.counts, tallies.total(), drawn)

    def estimates(self, metric: Metric, *, within: Range | None = None) -> tuple[Estimate, ...]:
        """The metric with its intervals; several where it has a value per period.

        `within`: from where to where the metric can go. Without it, a metric that is the same for all users has no width.
        """
        values = np.atleast_1d(metric(self.total))
        drawn = metric(self.drawn).reshape(RESAMPLES, -1)
        each = metric(self.each).reshape(self.users, -1) if within else np.empty((0, len(values)))
        found: list[Estimate] = []
        for index, value in enumerate(values):
            found.append(self._estimate(value, drawn[:, index], each[:, index], within=within))
        return tuple(found)

    def estimate(self, metric: Metric, *, within: Range | None = None) -> Estimate:
        """The metric's single value with its interval."""
        return self.estimates(metric, within=within)[0]

    def _estimate(self, value: float, drawn: Array, each: Array, *, within: Range | None) -> Estimate:
        drawn = drawn[~np.isnan(drawn)]
        each = each[~np.isnan(each)]
        if np.isnan(value) or self.users < 2 or not len(drawn):
            return Estimate(value=rounded(value), low=None, high=None)
        tail = tail_share(self.users)
        low, high = np.quantile(drawn, [tail, 1 - tail])
        if within and len(each) and np.ptp(each) < SAME:
            others = unseen_share(len(each))
            low = value - others * max(0.0, value - within[0])
            high = value + others * max(0.0, within[1] - value)
        return Estimate(value=rounded(value), low=rounded(low), high=rounded(high))


def unseen_share(users: int) -> float:
    """The largest share of users of another kind of whom so many users may show none: Wilson's 95 % limit.

    Resampling users who are all alike gives nothing but their value, as if nobody else existed. The interval then reaches to
    where the metric would be if so many others were as different as can be; for a share of 0 or 1 that is Wilson's, with
    users as trials.
    """
    squared = NormalDist().inv_cdf((1 + CONFIDENCE) / 2) ** 2
    return squared / (users + squared)


def tail_share(users: int) -> float:
    """The share to cut off at either end for a 95 % interval.

    Percentile intervals are too short for few users: resampling underestimates the variance by (n - 1) / n and knows no
    t distribution. The expanded percentile interval (Hesterberg 2015) mends both.
    """
    reach = np.sqrt(users / (users - 1)) * student((1 + CONFIDENCE) / 2, users - 1)
    return NormalDist().cdf(-reach)


def student(share: float, freedom: int) -> float:
    """The quantile of Student's t distribution."""
    # Late, because few commands need it; `scipy.stats` would take five times as long to import.
    from scipy import special

    return float(special.stdtrit(freedom, share))


def divided(above: Array, below: Array) -> Array:
    """The quotient, nan where the denominator is zero."""
    return np.divide(above, below, out=np.full(np.broadcast(above, below).shape, np.nan), where=below != 0)


def share(above: str, below: str) -> Metric:
    """Counts over all periods, one divided by the other."""
    return lambda sums: divided(sums[above].sum(axis=-1), sums[below].sum(axis=-1))


def metric_difference(first: Metric, second: Metric) -> Metric:
    """The first metric less the second."""
    return lambda sums: first(sums) - second(sums)


def rounded(value: float) -> float | None:
    """The number to six digits, None for nan: the last bits differ between machines."""
    return None if np.isnan(value) else round(float(value), DIGITS)
