"""The one rule for intervals over users. It imports neither numpy nor, before it is used, scipy.

A user is the unit, because the answers about one user depend on each other: Student's t, by how much users differ. Users may
differ little by chance alone, so the variance of a share is never taken for less than a third of what independent answers
would have. A share's interval is Wilson's with as many answers as would scatter so (after Korn and Graubard 1998), because
near 0 and 1 the other is too short. The simulation is in `pipelines/guide/decisions/evaluation/one-rule-for-intervals.md`.
"""

from dataclasses import dataclass
from math import hypot, isnan, sqrt
from typing import Literal

from assets.records.estimate import FEWEST_USERS, NOTHING, Estimate

CONFIDENCE = 0.95
DIGITS = 6
LEAST_EFFECT = 1 / 3
Range = tuple[float, float]
UNIT: Range = (0.0, 1.0)
GAIN: Range = (-1.0, 1.0)  # of a difference between two shares
# A share counts yes and no. One answer moves a score by 1 / answers at most. An amount has another unit, such as seconds.
Kind = Literal["share", "score", "amount"]


@dataclass(frozen=True)
class Statistic:
    """A number over users, nan where it does not exist.

    `variance`: of the number, by how much the users differ; nan where it hangs on one of them. `answers`: how many it is over.
    `within`: from where to where it can go.
    """

    value: float
    variance: float
    users: int
    answers: float
    kind: Kind = "share"
    within: Range | None = None

    @property
    def error(self) -> float | None:
        """The standard error, of a score at least as large as if one answer had been another; None for too few users."""
        if self.users < FEWEST_USERS or isnan(self.variance) or isnan(self.value):
            return None
        least = 1 / self.answers if self.kind == "score" and self.answers else 0.0
        return max(sqrt(max(0.0, self.variance)), least)

    def quantile(self, share: float) -> float:
        """Return the quantile of Student's t for this number of users."""
        # Late, because few commands need it; `scipy.stats` would take five times as long to import.
        from scipy import special

        return float(special.stdtrit(self.users - 1, share))

    @property
    def p_value(self) -> float | None:
        """The chance of a number as far from 0 if it is 0 in truth; None without an interval, 1 where nothing differs."""
        error = self.error
        if error is None:
            return None
        if not self.value:
            return 1.0
        from scipy import special

        return round(2 * float(special.stdtr(self.users - 1, -abs(self.value) / error)), DIGITS) if error else 0.0

    def estimate(self) -> Estimate:
        """Return the number with its 95 % interval, which fewer than six users do not have."""
        if isnan(self.value):
            return NOTHING
        error = self.error
        if error is None:
            return Estimate(value=rounded(self.value), low=None, high=None)
        low, high = self._wilson() if self.kind == "share" else self._student(error)
        return Estimate(value=rounded(self.value), low=rounded(low), high=rounded(high))

    @property
    def limits(self) -> Range | None:
        """The ends of the interval, or of Student's where that reaches farther; None for too few users."""
        error = self.error
        if error is None:
            return None
        student = self._student(error)
        if self.kind != "share":
            return student
        wilson = self._wilson()
        return min(student[0], wilson[0]), max(student[1], wilson[1])

    def _student(self, error: float) -> Range:
        reach = self.quantile((1 + CONFIDENCE) / 2) * error
        least, most = self.within or (self.value - reach, self.value + reach)
        return max(least, self.value - reach), min(most, self.value + reach)

    def _wilson(self) -> Range:
        independent = self.value * (1 - self.value) / self.answers
        # Where all are right, or none is, users show nothing of how they differ.
        effect = max(LEAST_EFFECT, self.variance / independent) if independent > 0 else 1.0
        weight = self.quantile((1 + CONFIDENCE) / 2) ** 2 * effect / self.answers
        middle = (self.value + weight / 2) / (1 + weight)
        reach = sqrt(weight * (independent * self.answers + weight / 4)) / (1 + weight)
        return max(0.0, middle - reach), min(1.0, middle + reach)


def difference_of_groups(first: Statistic, second: Statistic) -> Estimate:
    """Return the first less the second, which are of other users, with its interval; none where one of them has none.

    Each side reaches as far as its own limits, and the two reaches add up as independent errors do (Newcombe 1998, method 10).
    """
    gap = first.value - second.value
    if isnan(gap):
        return NOTHING
    if first.limits is None or second.limits is None:
        return Estimate(value=rounded(gap), low=None, high=None)
    below = hypot(first.value - first.limits[0], second.limits[1] - second.value)
    above = hypot(first.limits[1] - first.value, second.value - second.limits[0])
    return Estimate(value=rounded(gap), low=rounded(gap - below), high=rounded(gap + above))


def rounded(value: float) -> float:
    """Return the number to six digits: the last bits differ between machines."""
    return round(float(value), DIGITS)


@dataclass
class UserShare:
    """Hits and items of users who come one by one; their sums are all that share and interval need."""

    users: int = 0
    hits: int = 0
    items: int = 0
    hits_squared: int = 0
    hits_by_items: int = 0
    items_squared: int = 0

    def add(self, hits: int, items: int) -> None:
        """Take one user; one without items counts for nothing."""
        self.users += items > 0
        self.hits += hits
        self.items += items
        self.hits_squared += hits * hits
        self.hits_by_items += hits * items
        self.items_squared += items * items

    def estimate(self) -> Estimate:
        """The share of hits with its 95 % interval; None where there is nothing to count."""
        if not self.items:
            return NOTHING
        share = self.hits / self.items
        squares = self.hits_squared - 2 * share * self.hits_by_items + share**2 * self.items_squared
        variance = self.users / max(1, self.users - 1) * squares / self.items**2
        return Statistic(share, variance, self.users, self.items).estimate()
