"""Numbers over users that follow from counts: shares, differences of shares, and whatever else, each with its interval.

numpy is imported here: whoever is loaded with the definitions imports this module inside a function.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from assets.records.estimate import LEAST_ROOM, Estimate
from assets.reporting.statistic import GAIN, UNIT, Kind, Range, Statistic

Array = NDArray[np.float64]
Sums = dict[str, Array]


@dataclass(frozen=True)
class Metric:
    """A number that follows from summed counts of shape (..., periods): one, or one for each period; nan: it does not exist.

    `over`: the count of the answers that it is over. A user without any does not count.
    """

    compute: Callable[[Sums], Array]
    over: str
    kind: Kind = "score"
    within: Range | None = None

    def __call__(self, sums: Sums) -> Array:
        return self.compute(sums)

    def where(self, condition: Callable[[Sums], NDArray[np.bool_]]) -> "Metric":
        """Return the metric that exists only where the condition holds."""
        return Metric(lambda sums: np.where(condition(sums), self(sums), np.nan), self.over, self.kind, self.within)


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

    def total(self) -> Sums:
        """Counts over all users."""
        return {name: count.sum(axis=0) for name, count in self.counts.items()}

    def statistics(self, metric: Metric) -> tuple[Statistic, ...]:
        """The metric, for each period where it has a value for each; its variance by leaving out one user after another."""
        total = self.total()
        values = metric(total)
        without = metric({name: total[name] - count for name, count in self.counts.items()}).reshape(len(self.users), -1)
        answers = self.counts[metric.over]
        if not values.ndim:
            answers = answers.sum(axis=-1, keepdims=True)
        found: list[Statistic] = []
        for place, value in enumerate(np.atleast_1d(values)):
            asked = answers[:, place] > 0
            variance = jackknife_variance(without[asked, place])
            count = float(answers[:, place].sum())
            found.append(Statistic(float(value), variance, int(asked.sum()), count, metric.kind, metric.within))
        return tuple(found)

    def statistic(self, metric: Metric) -> Statistic:
        """The metric's single value."""
        return self.statistics(metric)[0]

    def estimates(self, metric: Metric) -> tuple[Estimate, ...]:
        """The metric with its intervals; several where it has a value per period."""
        return tuple(statistic.estimate() for statistic in self.statistics(metric))

    def estimate(self, metric: Metric) -> Estimate:
        """The metric's single value with its interval."""
        return self.statistic(metric).estimate()


def jackknife_variance(without: Array) -> float:
    """Return the variance of a number from its values without each user (Tukey 1958); nan where one of them is, or is all."""
    users = len(without)
    if users < 2:
        return float("nan")
    return float((users - 1) / users * ((without - without.mean()) ** 2).sum())


def divide(above: Array, below: Array) -> Array:
    """The quotient, nan where the denominator is zero."""
    return np.divide(above, below, out=np.full(np.broadcast(above, below).shape, np.nan), where=below != 0)


def share_of_room(gain: Array, room: Array) -> Array:
    """Return a gain as a share of the room that there was for it; nan where there was hardly any."""
    return divide(gain, np.where(room >= LEAST_ROOM, room, 0.0))


def quotient(above: str, below: str, *, kind: Kind = "score", within: Range | None = UNIT) -> Metric:
    """Counts over all periods, one divided by the other."""
    return Metric(lambda sums: divide(sums[above].sum(axis=-1), sums[below].sum(axis=-1)), below, kind, within)


def share(above: str, below: str, *, each_period: bool = False) -> Metric:
    """The share of yes among answers, over all periods or in each: one count divided by the other."""
    if each_period:
        return Metric(lambda sums: divide(sums[above], sums[below]), below, "share", UNIT)
    return quotient(above, below, kind="share")


def metric_difference(first: Metric, second: Metric) -> Metric:
    """The first metric less the second, which are shares of the same answers."""
    return Metric(lambda sums: first(sums) - second(sums), first.over, within=GAIN)
