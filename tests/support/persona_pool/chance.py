"""Draws that come out the same on every Python version and platform."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Chance:
    """The draws of one persona, each named by its purpose."""

    seed: int
    index: int

    def digest(self, purpose: str) -> str:
        """Sixty-four hex digits fixed by seed, persona and purpose."""
        key = f"{self.seed}/{self.index}/{purpose}"
        return hashlib.sha256(key.encode("utf-8")).hexdigest()

    def below(self, limit: int, purpose: str) -> int:
        """An integer from 0 up to but not including limit."""
        return int(self.digest(purpose), 16) % limit

    def happens(self, percent: int, purpose: str) -> bool:
        """True in so many cases out of a hundred."""
        return self.below(100, purpose) < percent

    def weighted(self, weights: Sequence[int], purpose: str) -> int:
        """The position of one entry, drawn in proportion to its weight."""
        left = self.below(sum(weights), purpose)
        for position, weight in enumerate(weights):
            if left < weight:
                return position
            left -= weight
        raise ValueError(f"no weights to draw from: {purpose}")
