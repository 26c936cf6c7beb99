"""Invented names, no two of a cluster alike: made of syllables, by kind of entity."""

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass

from assets.engine.seeded_random import SeededRandom
from assets.memory_items.world.relations import Entities

ONSETS = tuple("b br c d dr f g gr h j k kr l m n p pr qu r s st t tr v w z".split())  # noqa: SIM905 (easier to read)
VOWELS = ("a", "e", "i", "o", "u", "ae", "ei", "ou")
CODAS = ("l", "ld", "m", "n", "nd", "r", "rn", "s", "sk", "st", "t", "v", "x")
GIVEN_ENDS = ("a", "an", "e", "el", "en", "ia", "im", "in", "is", "o", "or", "us")
FAMILY_ENDS = ("ack", "aly", "ard", "ek", "ell", "enko", "idge", "ini", "ober", "ova", "sen", "wick")


def syllable(rng: SeededRandom) -> str:
    return rng.choice(ONSETS) + rng.choice(VOWELS)


def stem(rng: SeededRandom, syllables: int) -> str:
    """A capitalized stem that ends in a consonant."""
    return ("".join(syllable(rng) for _ in range(syllables)) + rng.choice(CODAS)).capitalize()


def person(rng: SeededRandom) -> str:
    """A given and a family name."""
    given = stem(rng, 1) + rng.choice(GIVEN_ENDS)
    return f"{given} {stem(rng, 2)}{rng.choice(FAMILY_ENDS)}"


def same_family(name: str, rng: SeededRandom) -> str:
    """Another given name before the same family name."""
    return f"{stem(rng, 1)}{rng.choice(GIVEN_ENDS)} {name.partition(' ')[2]}"


@dataclass(frozen=True)
class NameKind:
    """How names of one kind are made, and those that are easily taken for a given one."""

    new: Callable[[SeededRandom], str]
    alike: Callable[[str, SeededRandom], str]


PERSON = NameKind(person, same_family)


class NameMaker(Entities):
    """Makes names that differ from all that it made or was told of before."""

    def __init__(self, rng: SeededRandom, kinds: Mapping[str, NameKind], taken: Set[str] = frozenset()) -> None:
        self._rng, self._kinds, self._taken = rng, kinds, set(taken)

    def new(self, kind: str) -> str:
        return self._unlike_others(lambda: self._kinds[kind].new(self._rng))

    def alike(self, kind: str, name: str) -> str:
        return self._unlike_others(lambda: self._kinds[kind].alike(name, self._rng))

    def usable(self, name: str) -> bool:
        """Whether a name may be used that nobody has yet."""
        return True

    def _unlike_others(self, make: Callable[[], str]) -> str:
        name = make()
        while name in self._taken or not self.usable(name):
            name = make()
        self._taken.add(name)
        return name
