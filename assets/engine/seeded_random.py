"""Random numbers that follow from a seed and a path alone: the same on any machine and Python version."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import TypeVar

T = TypeVar("T")


class SeededRandom:
    """A random generator named by its path, such as (seed, user, stage). The n-th draw is a hash of the path and n."""

    def __init__(self, *path: object) -> None:
        self._path = "\x1f".join(map(str, path)).encode()
        self._draws = 0

    def integer_below(self, limit: int) -> int:
        """An integer from 0 to limit - 1, uniform up to 2**-64."""
        block = hashlib.sha256(self._path + b"\x1e" + str(self._draws).encode()).digest()
        self._draws += 1
        return int.from_bytes(block[:16], "big") % limit

    def choice(self, items: Sequence[T]) -> T:
        return items[self.integer_below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """All items in random order (Fisher-Yates)."""
        pool = list(items)
        for last in range(len(pool) - 1, 0, -1):
            other = self.integer_below(last + 1)
            pool[last], pool[other] = pool[other], pool[last]
        return pool

    def shuffled_lists(self, lists: Mapping[str, Sequence[T]]) -> dict[str, list[T]]:
        """Return the lists in random order, each with its items in random order."""
        return {name: self.shuffled(lists[name]) for name in self.shuffled(list(lists))}

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """`count` different items in random order, with one draw for each; all of them when there are fewer."""
        pool = list(items)
        for position in range(min(count, len(pool))):
            other = position + self.integer_below(len(pool) - position)
            pool[position], pool[other] = pool[other], pool[position]
        return pool[:count]

    def bernoulli(self, probability: float) -> bool:
        return self.integer_below(1_000_000) < round(probability * 1_000_000)
