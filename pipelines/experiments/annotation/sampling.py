"""How many items a study needs, and which: the arithmetic is told, and the draw is stratified and seeded."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from assets.engine.seeded_random import SeededRandom

T = TypeVar("T")
Z = 1.959964  # the normal quantile of a two-sided 95 % interval


@dataclass(frozen=True)
class Target:
    """The interval that the sample is for: `half_width` around an `expected` share, both as shares of 1.

    `size` is a number of units that takes the place of the arithmetic; `controls` is the share of items to plant.
    """

    expected: float = 0.95
    half_width: float = 0.03
    size: int | None = None
    controls: float = 0.1


@dataclass(frozen=True)
class Sizing:
    """How many units are sampled, and why."""

    units: int
    sentences: tuple[str, ...]


def sized(target: Target, *, population: int, items_per_unit: float = 1.0, unit: str = "item") -> Sizing:
    """The number of units out of `population`, by the normal approximation with finite population correction.

    n0 = z^2 p (1 - p) / h^2 items, less where the release has few: n = n0 / (1 + (n0 - 1) / N).
    """
    if target.size is not None:
        taken = min(target.size, population)
        return Sizing(taken, (f"{target.size} {unit}s are asked for; of {population} there are, {taken} are taken.",))
    p, h = target.expected, target.half_width
    items, total = Z**2 * p * (1 - p) / h**2, population * items_per_unit
    needed = items / (1 + (items - 1) / total) if items > 1 else 1.0
    drawn = needed / (1 - target.controls)
    units = min(population, _ceiling(drawn / items_per_unit))
    first = f"For {100 * p:g} % give or take {100 * h:g} points: 1.96^2 x {p:g} x {1 - p:g} / {h:g}^2 = {items:.1f} items."
    second = f"Of a population of {total:.0f}: {items:.1f} / (1 + ({items:.1f} - 1) / {total:.0f}) = {needed:.1f} items."
    each = f" / {items_per_unit:.3g} items for each {unit}" if items_per_unit != 1 else ""
    planted = f"With {100 * target.controls:.3g} % of the items planted" if target.controls else "With nothing planted"
    third = f"{planted}: {needed:.1f} / {1 - target.controls:.4g}{each}, so {units} of {population} {unit}s are taken."
    note = "This counts the sampling of items alone; reported intervals are taken over users, and are wider where users differ."
    return Sizing(units, (first, second, third, note))


def stratified(units: Sequence[T], *, size: int, stratum: Callable[[T], str], rng: SeededRandom) -> list[T]:
    """So many units, from each stratum its share (largest remainders, ties by rng), in the order given."""
    strata: dict[str, list[int]] = {}
    for place, unit in enumerate(units):
        strata.setdefault(stratum(unit), []).append(place)
    quotas = _quotas({name: len(places) for name, places in strata.items()}, size=min(size, len(units)), rng=rng)
    taken = [place for name, places in strata.items() for place in rng.sample(places, quotas[name])]
    return [units[place] for place in sorted(taken)]


def _quotas(sizes: dict[str, int], *, size: int, rng: SeededRandom) -> dict[str, int]:
    total = sum(sizes.values())
    quotas = {name: size * count // total for name, count in sizes.items()}
    # By what the whole numbers cut off; the draw decides between equals.
    waiting = sorted(rng.shuffled(list(sizes)), key=lambda name: -(size * sizes[name] % total))
    for name in waiting[: size - sum(quotas.values())]:
        quotas[name] += 1
    return quotas


def _ceiling(number: float) -> int:
    return max(1, -int(-(number - 1e-9) // 1))
