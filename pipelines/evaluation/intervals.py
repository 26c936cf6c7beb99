"""Paired tests between two runs over the same users."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from assets.intervals import CONFIDENCE, RESAMPLES, Array, Metric, Sample, Sums, Tallies, rounded, student
from assets.records.base import Record
from assets.records.estimate import Estimate

EXACT_USERS = 12
POWER = 0.8


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

    both = Sample.of(merged({"a": first, "b": second}), seed=seed)

    def gap(sums: Sums) -> Array:
        return metric(part("b", sums)) - metric(part("a", sums))

    drawn = gap(both.drawn)
    return Paired(
        metric=name,
        difference=both.estimate(gap),
        p_value=_p_value(metric, runs, seed=seed),
        detectable=_detectable(drawn[~np.isnan(drawn)], users=len(first.users)),
    )


def merged(tallies: Mapping[str, Tallies]) -> Tallies:
    """Tallies of the same users as one, each under a key of one letter; `part` takes them apart again."""
    [users] = {one.users for one in tallies.values()}
    return Tallies(users, {f"{key} {name}": count for key, one in tallies.items() for name, count in one.counts.items()})


def part(key: str, sums: Sums) -> Sums:
    """The sums of the tallies under this key."""
    return {name[2:]: count for name, count in sums.items() if name.startswith(f"{key} ")}


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
