"""Paired tests between two runs over the same users."""

from collections.abc import Mapping
from itertools import product

import numpy as np

from assets.records.base import Record
from assets.records.estimate import Estimate
from assets.reporting.intervals import CONFIDENCE, GAIN, RESAMPLES, Array, Metric, Sample, Sums, Tallies, rounded, student
from pipelines.evaluation.report.formatting import format_number

EXACT_USERS = 12  # of so few users, all 4096 swaps are counted in place of a draw
POWER = 0.8  # of a detectable difference: shown four times out of five


class Paired(Record):
    """Second run minus first run over the same users.

    `p_value`: chance of a difference as large if it did not matter which run a user's answers came from.
    `detectable`: the smallest true difference that these users would show in four of five evaluations; none
    where no user shows any.
    """

    metric: str
    difference: Estimate
    p_value: float | None
    detectable: float | None

    @property
    def detectable_label(self) -> str:
        """Return `detectable` for readers. Shares differ by 1 at most, so that users who show no less show nothing."""
        if self.detectable is not None and self.detectable >= 1:
            return "none with so few"
        return format_number(self.detectable)


def paired(metrics: Mapping[str, Metric], runs: tuple[Tallies, Tallies], *, seed: int) -> tuple[Paired, ...]:
    """Compare two runs by these metrics, all over the same draws. Both tallies must be of the same users in the same order."""
    first, second = runs
    both = Sample.of(merged({"a": first, "b": second}), seed=seed)
    swapped = _swapped(first, second, seed=seed)
    return tuple(_compared(name, metric, both, swapped) for name, metric in metrics.items())


def _compared(name: str, metric: Metric, both: Sample, swapped: Sums) -> Paired:
    apart = difference_of(metric)
    drawn = apart(both.drawn)
    return Paired(
        metric=name,
        difference=both.estimate(apart, within=GAIN),
        p_value=_p_value(float(apart(both.total)), apart(swapped), users=both.users),
        detectable=_detectable(drawn[~np.isnan(drawn)], users=both.users),
    )


def merged(tallies: Mapping[str, Tallies]) -> Tallies:
    """Return tallies of the same users as one, each under a key of one letter; `part` takes them apart again."""
    [users] = {one.users for one in tallies.values()}
    return Tallies(users, _with_keys({key: one.counts for key, one in tallies.items()}))


def _with_keys(sums: Mapping[str, Sums]) -> Sums:
    merged_sums: Sums = {}
    for key, one in sums.items():
        for name, count in one.items():
            merged_sums[f"{key} {name}"] = count
    return merged_sums


def part(key: str, sums: Sums) -> Sums:
    """Return the sums of the tallies under this key."""
    return {name[2:]: count for name, count in sums.items() if name.startswith(f"{key} ")}


def metric_of_part(key: str, metric: Metric) -> Metric:
    """Return the metric of the tallies under this key."""
    return lambda sums: metric(part(key, sums))


def difference_of(metric: Metric) -> Metric:
    """Return the metric of the tallies under "b" minus that of those under "a"."""
    return lambda sums: metric(part("b", sums)) - metric(part("a", sums))


def _p_value(seen: float, with_swaps: Array, *, users: int) -> float | None:
    """A permutation test: how often the difference is as large when the runs of whole users are swapped."""
    found = with_swaps[~np.isnan(with_swaps)]
    if np.isnan(seen) or not len(found):
        return None
    at_least = int((np.abs(found) >= abs(seen) - 1e-12).sum())  # equal sums may differ by rounding
    return rounded(at_least / len(found) if users <= EXACT_USERS else (at_least + 1) / (len(found) + 1))


def _swapped(first: Tallies, second: Tallies, *, seed: int) -> Sums:
    """Return the two sides' sums under each swap, by "a" and "b" as `merged` has them; all swaps where there are few users."""
    swaps = _swaps(len(first.users), seed=seed)
    return _with_keys({"a": _sum(first, 1 - swaps, second, swaps), "b": _sum(first, swaps, second, 1 - swaps)})


def _sum(first: Tallies, taken: Array, second: Tallies, also: Array) -> Sums:
    one = first.sums(taken)
    other = second.sums(also)
    return {name: one[name] + other[name] for name in one}


def _swaps(users: int, *, seed: int) -> Array:
    if users <= EXACT_USERS:
        return np.array(list(product([0.0, 1.0], repeat=users)))
    chance = np.random.Generator(np.random.PCG64(seed))
    return chance.integers(0, 2, size=(RESAMPLES, users)).astype(float)


def _detectable(drawn: Array, *, users: int) -> float | None:
    if users < 2 or not len(drawn) or not np.ptp(drawn):
        return None
    error = float(np.std(drawn)) * float(np.sqrt(users / (users - 1)))
    reach = student((1 + CONFIDENCE) / 2, users - 1) + student(POWER, users - 1)
    return rounded(float(reach) * error)
