"""Which hand-written line to take: one that tells its value, and nothing about the person's other variables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assets.engine.seeded_random import SeededRandom
from pipelines.embedded.reader import read

NEVER_MENDED = 0.0005


@dataclass(frozen=True)
class Meaning:
    """What a line is to tell: this value of this variable, among these values."""

    name: str
    value: str
    values: tuple[str, ...]

    def told_by(self, text: str) -> bool:
        """Whether the writer, reading its own text, finds the value in it."""
        return read(text, name=self.name, values=self.values) == self.value


def best_line(lines: Sequence[str], meaning: Meaning, *, others: Mapping[str, Sequence[str]], rng: SeededRandom) -> str:
    """A line that is clear and discreet; clear goes before discreet."""
    order = rng.shuffled(lines)
    clear = [line for line in order if meaning.told_by(line)] or order
    return next((line for line in clear if not _gives_away(line, meaning.name, others)), clear[0])


def _gives_away(line: str, name: str, others: Mapping[str, Sequence[str]]) -> bool:
    return any(other != name and read(line, name=other, values=values) is not None for other, values in others.items())


def never_mended(*item: object) -> bool:
    """Whether an item stays unclear whatever is tried: by its content alone, so that another attempt meets the same.

    A real model has such blind spots, and a pipeline has to replace the user then.
    """
    return SeededRandom("blind spot", *item).bernoulli(NEVER_MENDED)
