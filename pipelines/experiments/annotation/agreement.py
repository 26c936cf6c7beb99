"""Agreement of annotators: raw, Gwet's AC1 and Krippendorff's alpha, for any number of annotators and missing labels.

Each is a function of sums over items, so that `assets.reporting.intervals` can resample users. Items that fewer than two
rated say nothing about agreement, but those that one rated count for AC1's shares of the categories, as in Gwet (2014).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from assets.records.annotation import Level
from assets.reporting.intervals import Array, Metric, Sums, Tallies, divided


@dataclass(frozen=True)
class Rated:
    """One item of a user, and the labels it got, in no order; annotators who gave none are left out."""

    user_id: str
    labels: tuple[str, ...]


def tally(items: Sequence[Rated], *, categories: Sequence[str]) -> Tallies:
    """Sum for each user what the coefficients are functions of: arrays of shape (users, 1)."""
    names = ["rated", "paired", "agreed"]
    for first in categories:
        names.append(f"share {first}")
        names += [f"pair {first} {other}" for other in categories]
    by_user: dict[str, dict[str, float]] = {}
    for item in items:
        own = by_user.setdefault(item.user_id, {})
        for name, amount in _parts(item):
            own[name] = own.get(name, 0.0) + amount
    return Tallies.of(by_user, names=names)


def _parts(item: Rated) -> Iterator[tuple[str, float]]:
    """Yield one item's contributions. Its pairs of labels weigh 1 / (m - 1), so that an item counts once for each label."""
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
    for first, count in counts.items():
        for other, more in counts.items():
            yield f"pair {first} {other}", count * (more - (first == other)) / (many - 1)


def raw_agreement(sums: Sums) -> Array:
    """Return the mean share of pairs of annotators that agree on an item."""
    return divided(sums["agreed"], sums["paired"])[..., 0]


def ac1(categories: Sequence[str]) -> Metric:
    """Gwet's AC1 (2008): chance agreement is the sum of p (1 - p) over the categories, divided by their number less one."""

    def metric(sums: Sums) -> Array:
        shares = np.stack([divided(sums[f"share {category}"], sums["rated"])[..., 0] for category in categories])
        by_chance = (shares * (1 - shares)).sum(axis=0) / (len(categories) - 1)
        return divided(raw_agreement(sums) - by_chance, 1 - by_chance)

    return metric


def alpha(categories: Sequence[str], *, level: Level) -> Metric:
    """Krippendorff's alpha (2011) from coincidences; nan where all labels are alike, because then nothing can differ.

    For "ordinal", the categories are in order.
    """

    def metric(sums: Sums) -> Array:
        rows = [np.stack([sums[f"pair {first} {other}"][..., 0] for other in categories], -1) for first in categories]
        matrix = np.stack(rows, -2)
        totals = matrix.sum(axis=-1)
        distance = _distances(totals, level=level)
        observed = (matrix * distance).sum(axis=(-2, -1))
        expected = (totals[..., :, None] * totals[..., None, :] * distance).sum(axis=(-2, -1))
        return 1 - divided((totals.sum(axis=-1) - 1) * observed, expected)

    return metric


def _distances(totals: Array, *, level: Level) -> Array:
    """Return squared differences (..., q, q). Ordinal: how many labels lie between two categories, half of the two included."""
    size = totals.shape[-1]
    if level == "nominal":
        return 1 - np.eye(size)
    ranks = np.cumsum(totals, axis=-1) - totals / 2
    return (ranks[..., :, None] - ranks[..., None, :]) ** 2
