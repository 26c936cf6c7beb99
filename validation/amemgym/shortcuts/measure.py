"""What a way to choose without memory reaches, and what luck alone would.

Everything measured takes one option per question, whatever the period, because texts do not change from period to
period. So luck has a closed form: options are shown in shuffled order and none is right by design, hence a cue that knows
nothing takes each with equal chance.
"""

from array import array
from dataclasses import dataclass, field
from functools import lru_cache
from operator import mul
from typing import NamedTuple

from validation.amemgym.shortcuts.programs import Asked, Cue, Weights

# A clean set passes this once in ten thousand times: a blocked release must mean something, and there are some twenty lines.
LUCK_DEVIATIONS = 3.72
WORST_ITEMS = 3


class Pick(NamedTuple):
    """What a cue takes of one question: the probability of each option, beside its share of the periods when it is right."""

    asked: Asked
    weights: Weights
    shares: Weights

    @property
    def periods(self) -> int:
        return len(self.asked.question.golden)

    @property
    def gain(self) -> float:
        """The share of periods got right, less what a guess gets."""
        return sum(map(mul, self.weights, self.shares)) - 1 / len(self.shares)

    @property
    def variance(self) -> float:
        """Of the gain, if the options were dealt to their places at random."""
        count = len(self.shares)
        return _spread(self.weights) * _spread(self.shares) / (count - 1) if count > 1 else 0.0


@lru_cache(maxsize=1024)  # most cues take one option whole
def _spread(some: Weights) -> float:
    return sum((one - 1 / len(some)) ** 2 for one in some)


def _numbers() -> "array[float]":
    return array("d")


@dataclass
class Measured:
    """A cue's picks over the whole set, summed up while the users pass by.

    `pairs` are (question, period) pairs; of each user, who has a number, how many were got right and asked is kept, and of
    the picks themselves the `worst` alone: those that gain most, the earlier first among equals.
    """

    cue: Cue
    pairs: int = 0
    guessed: float = 0.0
    gained: float = 0.0
    scattered: float = 0.0
    users: "array[int]" = field(default_factory=lambda: array("q"))
    right: "array[float]" = field(default_factory=_numbers)
    asked: "array[float]" = field(default_factory=_numbers)
    worst: list[tuple[float, Pick]] = field(default_factory=list[tuple[float, Pick]])

    def add(self, pick: Pick, *, user: int) -> None:
        """Take one pick; those of a user come together."""
        gain, periods, options = pick.gain, pick.periods, len(pick.shares)
        if not self.users or self.users[-1] != user:
            self.users.append(user)
            self.right.append(0.0)
            self.asked.append(0.0)
        self.right[-1] += periods * (gain + 1 / options)
        self.asked[-1] += periods
        self.pairs += periods
        self.guessed += periods / options
        self.gained += gain * periods
        self.scattered += periods**2 * pick.variance
        if gain > (self.worst[-1][0] if len(self.worst) == WORST_ITEMS else 0):
            self.worst = sorted([*self.worst, (gain, pick)], key=lambda one: -one[0])[:WORST_ITEMS]

    @property
    def random(self) -> float:
        """The accuracy of a uniform guess over the same pairs."""
        return self.guessed / max(1, self.pairs)

    @property
    def accuracy(self) -> float:
        """The share of pairs got right."""
        return self.random + self.gained / max(1, self.pairs)

    @property
    def luck(self) -> float:
        """The accuracy that mere luck passes once in ten thousand sets."""
        return self.random + LUCK_DEVIATIONS * self.scattered**0.5 / max(1, self.pairs)
