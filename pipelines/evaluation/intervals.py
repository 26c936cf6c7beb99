"""Sampling error over users: bootstrap intervals, and paired tests between two runs over the same users."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import special

from assets.records.base import Record
from pipelines.evaluation.tallies import Array, Metric, Sums, Tallies

RESAMPLES = 4000
EXACT_USERS = 12
CONFIDENCE = 0.95
POWER = 0.8
DIGITS = 6


class Estimate(Record):
    """A metric with its interval; None: it does not exist (nothing to divide by, or a single user)."""

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Sample:
    """Summed counts: over all users, and over the users of each resample (resamples, periods)."""

    users: int
    total: Sums
    drawn: Sums

    @classmethod
    def of(cls, tallies: Tallies, *, seed: int) -> "Sample":
        """Draw users with replacement, as many as there are; the same users for the same seed."""
        users = len(tallies.users)
        chance = np.random.Generator(np.random.PCG64(seed))
        weights = chance.multinomial(users, np.full(users, 1 / users), size=RESAMPLES).astype(float)
        return cls(users, tallies.total(), tallies.sums(weights))

    def estimates(self, metric: Metric) -> tuple[Estimate, ...]:
        """The metric with its intervals; several where it has a value per period."""
        values = np.atleast_1d(metric(self.total))
        drawn = metric(self.drawn).reshape(RESAMPLES, -1)
        return tuple(self._estimate(value, drawn[:, place]) for place, value in enumerate(values))

    def estimate(self, metric: Metric) -> Estimate:
        """The metric with its interval."""
        return self.estimates(metric)[0]

    def _estimate(self, value: float, drawn: Array) -> Estimate:
        drawn = drawn[~np.isnan(drawn)]
        if np.isnan(value) or self.users < 2 or not len(drawn):
            return Estimate(value=rounded(value), low=None, high=None)
        tail = tail_share(self.users)
        low, high = np.quantile(drawn, [tail, 1 - tail])
        return Estimate(value=rounded(value), low=rounded(low), high=rounded(high))


def tail_share(users: int) -> float:
    """The share to cut off at either end for a 95 % interval.

    Percentile intervals are too short for few users: resampling underestimates the variance by (n - 1) / n and knows no
    t distribution. The expanded percentile interval (Hesterberg 2015) mends both.
    """
    reach = np.sqrt(users / (users - 1)) * student((1 + CONFIDENCE) / 2, users - 1)
    return float(special.ndtr(-reach))


def student(share: float, freedom: int) -> float:
    """The quantile of Student's t distribution (`scipy.stats` would take a second to import)."""
    return float(special.stdtrit(freedom, share))


class Paired(Record):
    """Second run minus first run over the same users.

    `p_value`: chance of a difference as large if it did not matter which run a user's answers came from.
    `detectable`: the smallest true difference that these users would show in four of five evaluations.
    """

    metric: str
    difference: Estimate
    p_value: float | None
    detectable: float | None


def paired(name: str, metric: Metric, runs: tuple[Tallies, Tallies], *, seed: int) -> Paired:
    """Compare two runs by one metric. Both tallies must be of the same users in the same order."""
    first, second = runs
    assert first.users == second.users

    both = Sample.of(Tallies(first.users, {**_named("a", first), **_named("b", second)}), seed=seed)

    def gap(sums: Sums) -> Array:
        return metric(_part("b", sums)) - metric(_part("a", sums))

    drawn = gap(both.drawn)
    return Paired(
        metric=name,
        difference=both.estimate(gap),
        p_value=_p_value(metric, runs, seed=seed),
        detectable=_detectable(drawn[~np.isnan(drawn)], users=len(first.users)),
    )


def _named(prefix: str, tallies: Tallies) -> Sums:
    return {f"{prefix} {name}": count for name, count in tallies.counts.items()}


def _part(prefix: str, sums: Sums) -> Sums:
    return {name[2:]: count for name, count in sums.items() if name.startswith(prefix)}


def _p_value(metric: Metric, runs: tuple[Tallies, Tallies], *, seed: int) -> float | None:
    """A permutation test that swaps the two runs of whole users; all swaps where there are few users."""
    first, second = runs
    swaps = _swaps(len(first.users), seed=seed)
    with_swaps = metric(_sum(first, 1 - swaps, second, swaps)) - metric(_sum(first, swaps, second, 1 - swaps))
    seen = float(metric(first.total()) - metric(second.total()))
    found = with_swaps[~np.isnan(with_swaps)]
    if np.isnan(seen) or not len(found):
        return None
    at_least = int((np.abs(found) >= abs(seen) - 1e-12).sum())
    exact = len(first.users) <= EXACT_USERS
    return rounded(at_least / len(found) if exact else (at_least + 1) / (len(found) + 1))


def _sum(first: Tallies, taken: Array, second: Tallies, also: Array) -> Sums:
    one, other = first.sums(taken), second.sums(also)
    return {name: one[name] + other[name] for name in one}


def _swaps(users: int, *, seed: int) -> Array:
    if users <= EXACT_USERS:
        return np.array(list(product([0.0, 1.0], repeat=users)))
    chance = np.random.Generator(np.random.PCG64(seed))
    return chance.integers(0, 2, size=(RESAMPLES, users)).astype(float)


def _detectable(drawn: Array, *, users: int) -> float | None:
    if users < 2 or not len(drawn):
        return None
    error = float(np.std(drawn)) * float(np.sqrt(users / (users - 1)))
    reach = student((1 + CONFIDENCE) / 2, users - 1) + student(POWER, users - 1)
    return rounded(float(reach) * error)


def rounded(value: float) -> float | None:
    """The number to six digits, None for nan: the last bits differ between machines."""
    return None if np.isnan(value) else round(float(value), DIGITS)
