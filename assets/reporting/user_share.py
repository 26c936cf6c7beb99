"""The share of hits among items that belong to users who come one by one."""

from dataclasses import dataclass

from assets.records.estimate import NOTHING, Estimate
from assets.reporting.statistic import Statistic


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
