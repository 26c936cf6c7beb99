"""The share of hits among items that belong to users, with an interval that knows how few users there are."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from assets.records.estimate import Estimate

DIGITS = 6


class Outcome(NamedTuple):
    """One yes or no, and the user it is about."""

    user_id: str
    hit: bool


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
        """The share of hits with its 95 % interval; None where there is nothing to count, no interval for a single user.

        Errors are rare, and a bootstrap of none at all would be certain of zero. So the interval is Wilson's, for the
        number of independent outcomes that would scatter between users as much as these do, with Student's t for the
        number of users (after Korn and Graubard 1998).
        """
        if not self.items:
            return Estimate(value=None, low=None, high=None)
        share = self.hits / self.items
        if self.users < 2:
            return Estimate(value=round(share, DIGITS), low=None, high=None)
        low, high = _wilson(share, self._weight(share))
        return Estimate(value=round(share, DIGITS), low=round(low, DIGITS), high=round(high, DIGITS))

    def _weight(self, share: float) -> float:
        """t squared over the effective number of outcomes."""
        from assets.reporting.intervals import (  # brings numpy and scipy, and the definitions import this module
            CONFIDENCE,
            student,
        )

        squares = self.hits_squared - 2 * share * self.hits_by_items + share**2 * self.items_squared
        scatter = self.users / (self.users - 1) * squares / self.items**2
        plain = share * (1 - share) / self.items
        effect = max(1.0, scatter / plain) if plain else 1.0
        return student((1 + CONFIDENCE) / 2, self.users - 1) ** 2 * effect / self.items


def share_by_user(outcomes: Iterable[Outcome]) -> Estimate:
    """The share of hits with its 95 % interval, as `UserShare` has it."""
    hits = Counter[str]()
    items = Counter[str]()
    for user_id, hit in outcomes:
        hits[user_id] += hit
        items[user_id] += 1
    share = UserShare()
    for user_id in items:
        share.add(hits[user_id], items[user_id])
    return share.estimate()


def _wilson(share: float, weight: float) -> tuple[float, float]:
    middle = (share + weight / 2) / (1 + weight)
    reach = (weight * (share * (1 - share) + weight / 4)) ** 0.5 / (1 + weight)
    return max(0.0, middle - reach), min(1.0, middle + reach)
