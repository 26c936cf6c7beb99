"""Agreement of annotators: raw and Gwet's AC1, for any number of annotators and missing labels.

Each is a function of sums over items, so that `assets.reporting.intervals` can leave out users. Items that fewer than two
rated say nothing about agreement, but those that one rated count for AC1's shares of the categories, as in Gwet (2014).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assets.reporting.intervals import GAIN, Array, Metric, Sums, Tallies, divide, quotient


@dataclass(frozen=True)
class Rated:
    """One item of a user, and the labels it got, in no order; annotators who gave none are left out."""

    user_id: str
    labels: tuple[str, ...]


def tally(items: Sequence[Rated], *, categories: Sequence[str]) -> Tallies:
    """Sum for each user what the coefficients are functions of: arrays of shape (users, 1)."""
    names = ["rated", "paired", "agreed"]
    names += [f"share {category}" for category in categories]
    by_user: dict[str, dict[str, float]] = {}
    for item in items:
        own = by_user.setdefault(item.user_id, {})
        for name, amount in _parts(item):
            own[name] = own.get(name, 0.0) + amount
    return Tallies.of(by_user, names=names)


def _parts(item: Rated) -> Iterator[tuple[str, float]]:
    """Yield one item's contributions."""
    many = len(item.labels)
    if not many:
        return
    yield "rated", 1.0
    counts = Counter(item.labels)
    for label, count in counts.items():
        yield f"share {label}", count / many
    if many < 2:
        return
    yield "paired", 1.0
    yield "agreed", sum(count * (count - 1) for count in counts.values()) / (many * (many - 1))


# The mean share of pairs of annotators that agree on an item.
raw_agreement = quotient("agreed", "paired")


def ac1(categories: Sequence[str]) -> Metric:
    """Gwet's AC1 (2008): chance agreement is the sum of p (1 - p) over the categories, divided by their number less one."""

    def metric(sums: Sums) -> Array:
        shares = np.stack([divide(sums[f"share {category}"], sums["rated"])[..., 0] for category in categories])
        by_chance = (shares * (1 - shares)).sum(axis=0) / (len(categories) - 1)
        return divide(raw_agreement(sums) - by_chance, 1 - by_chance)

    return Metric(metric, "rated", within=GAIN)
