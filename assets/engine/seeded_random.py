"""Seeded chance: every draw is a function of (seed, path), the same on any machine and Python version."""

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """A stream of draws named by its path, such as (seed, user, stage). Draws are made in order."""

    def __init__(self, *path: object) -> None:
        self._path = "\x1f".join(map(str, path)).encode()
        self._drawn = 0

    def below(self, limit: int) -> int:
        """A whole number from 0 to limit - 1, uniform up to 2**-64."""
        block = hashlib.sha256(self._path + b"\x1e" + str(self._drawn).encode()).digest()
        self._drawn += 1
        return int.from_bytes(block[:16], "big") % limit

    def chosen(self, items: Sequence[T]) -> T:
        """One of the items."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """All items in random order (Fisher-Yates)."""
        pool = list(items)
        for last in range(len(pool) - 1, 0, -1):
            other = self.below(last + 1)
            pool[last], pool[other] = pool[other], pool[last]
        return pool

    def sampled(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different items in random order, with one draw for each; all of them when there are fewer."""
        pool = list(items)
        for place in range(min(count, len(pool))):
            other = place + self.below(len(pool) - place)
            pool[place], pool[other] = pool[other], pool[place]
        return pool[:count]

    def happens(self, probability: float) -> bool:
        """True with the given probability."""
        return self.below(1_000_000) < round(probability * 1_000_000)
