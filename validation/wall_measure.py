"""What a way to choose without memory reaches, and what luck alone would.

Everything measured takes one option per question, whatever the period, because texts do not change from period to
period. So luck has a closed form: options are shown in shuffled order and none is right by design, hence a cue that knows
nothing takes each with equal chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from validation.wall_cues import Asked, Cue, Weights

# A clean set passes this once in ten thousand times: a blocked release must mean something, and there are some twenty lines.
LUCK_DEVIATIONS = 3.72


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
        return sum(w * s for w, s in zip(self.weights, self.shares, strict=True)) - 1 / len(self.shares)

    @property
    def variance(self) -> float:
        """Of the gain, if the options were dealt to their places at random."""
        count = len(self.shares)
        spread = [sum((one - 1 / count) ** 2 for one in some) for some in (self.weights, self.shares)]
        return spread[0] * spread[1] / (count - 1) if count > 1 else 0.0


@dataclass(frozen=True)
class Measured:
    """A cue's picks over the whole set; `limit` is what its accuracy may be."""

    cue: Cue
    picks: Sequence[Pick]

    @property
    def pairs(self) -> int:
        """(question, period) pairs."""
        return sum(pick.periods for pick in self.picks)

    @property
    def random(self) -> float:
        """The accuracy of a uniform guess over the same pairs."""
        return sum(pick.periods / len(pick.shares) for pick in self.picks) / max(1, self.pairs)

    @property
    def accuracy(self) -> float:
        """The share of pairs got right."""
        return self.random + sum(pick.gain * pick.periods for pick in self.picks) / max(1, self.pairs)

    @property
    def luck(self) -> float:
        """The accuracy that mere luck passes once in ten thousand sets."""
        variance = sum((pick.periods / max(1, self.pairs)) ** 2 * pick.variance for pick in self.picks)
        return self.random + LUCK_DEVIATIONS * variance**0.5
