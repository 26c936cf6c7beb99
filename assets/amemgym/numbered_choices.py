"""Choices by number: a judge that names a choice by its number replies in few tokens, and its reply's schema is short."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assets.engine.seeded_random import SeededRandom
from assets.llm.structured_output import SchemaPart, integer_between, list_of


@dataclass(frozen=True)
class NumberedChoices:
    """Choices in the order in which a judge sees them; `pairs` are variables with a choice, numbered from 1."""

    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, choices: Mapping[str, Sequence[str]]) -> "NumberedChoices":
        pairs: list[tuple[str, str]] = []
        for name, own in choices.items():
            pairs.extend((name, choice) for choice in own)
        return cls(tuple(pairs))

    @classmethod
    def shuffled(cls, choices: Mapping[str, Sequence[str]], *, seed: int, user_id: str, vote: int) -> "NumberedChoices":
        """Return the choices in the order of this vote, which is another for each vote on a text.

        Calls of the same vote have the same order, whatever they read: so they begin alike, and providers cache beginnings.
        """
        return cls.of(SeededRandom(seed, user_id, "choices", vote).shuffled_lists(choices))

    def in_prompt(self) -> dict[str, list[str]]:
        """Return the variables, each with its choices behind their numbers."""
        shown: dict[str, list[str]] = {}
        for number, (name, choice) in enumerate(self.pairs, start=1):
            shown.setdefault(name, []).append(f"{number} {choice}")
        return shown

    def numbers_of(self, values: Mapping[str, str]) -> list[int]:
        """Return the numbers of these variables' values."""
        return [number for number, (name, choice) in enumerate(self.pairs, start=1) if values.get(name) == choice]

    def values_of(self, numbers: Iterable[int], *, told_by: str) -> dict[str, str]:
        """Return the values of these numbers by variable. Raises ValueError, with a sentence for the model, for two of one."""
        values: dict[str, str] = {}
        for number in dict.fromkeys(numbers):  # a number given twice says nothing new
            name, choice = self.pairs[number - 1]
            if name in values:
                raise ValueError(f"{told_by} tells one choice of {name!r} at most; leave out what it does not settle.")
            values[name] = choice
        return values

    @property
    def number(self) -> SchemaPart:
        """The part of a reply's schema that is one of the numbers."""
        return integer_between(1, len(self.pairs))

    @property
    def numbers(self) -> SchemaPart:
        """The part of a reply's schema that has any of the numbers, or none."""
        return list_of(self.number, min_items=0)
