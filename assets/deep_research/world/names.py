"""Names of people, places, firms, devices and studies that exist nowhere, no two of a task alike."""

from collections.abc import Callable, Mapping
from typing import Literal

from assets.engine.seeded_random import SeededRandom

EntityKind = Literal["person", "place", "firm", "device", "study"]
KINDS: tuple[EntityKind, ...] = ("person", "place", "firm", "device", "study")
ONSETS = tuple("b br c d dr f g gr h j k kr l m n p pr qu r s st t tr v w z".split())  # noqa: SIM905 (easier to read)
VOWELS = ("a", "e", "i", "o", "u", "ae", "ei", "ou")
CODAS = ("l", "ld", "m", "n", "nd", "r", "rn", "s", "sk", "st", "t", "v", "x")
GIVEN_ENDS = ("a", "an", "e", "el", "en", "ia", "im", "in", "is", "o", "or", "us")
FAMILY_ENDS = ("ack", "aly", "ard", "ek", "ell", "enko", "idge", "ini", "ober", "ova", "sen", "wick")
PLACE_ENDS = ("borough", "bridge", "dal", "fell", "ford", "gate", "haven", "holm", "mere", "mouth", "stead", "wold")
FIRM_ENDS = ("Works", "Instruments", "Foundry", "Optics", "Mills", "Shipping", "Ceramics", "Dynamics", "Press", "Yards")
STUDY_ENDS = ("Survey", "Trial", "Study", "Census", "Inquiry", "Programme", "Assessment", "Audit")


def syllable(rng: SeededRandom) -> str:
    return rng.choice(ONSETS) + rng.choice(VOWELS)


def stem(rng: SeededRandom, syllables: int) -> str:
    """A capitalized stem that ends in a consonant."""
    return ("".join(syllable(rng) for _ in range(syllables)) + rng.choice(CODAS)).capitalize()


def _person(rng: SeededRandom) -> str:
    given = stem(rng, 1) + rng.choice(GIVEN_ENDS)
    return f"{given} {stem(rng, 2)}{rng.choice(FAMILY_ENDS)}"


def _device(rng: SeededRandom) -> str:
    return f"{stem(rng, 2)}{rng.choice(('o', 'a', 'ix', 'on'))} {10 + rng.integer_below(90)}"


NEW: Mapping[EntityKind, Callable[[SeededRandom], str]] = {
    "person": _person,
    "place": lambda rng: stem(rng, 2) + rng.choice(PLACE_ENDS),
    "firm": lambda rng: f"{stem(rng, 2)} {rng.choice(FIRM_ENDS)}",
    "device": _device,
    "study": lambda rng: f"{stem(rng, 2)} {rng.choice(STUDY_ENDS)}",
}


def _alike(kind: EntityKind, name: str, rng: SeededRandom) -> str:
    """A name that is easily taken for another one."""
    first, _, last = name.partition(" ")
    if kind == "person":
        return f"{stem(rng, 1)}{rng.choice(GIVEN_ENDS)} {last}"
    if kind == "device":
        return f"{first} {10 + rng.integer_below(90)}"
    if kind == "place":
        end = next(end for end in PLACE_ENDS if name.endswith(end))
        return name.removesuffix(end) + rng.choice(PLACE_ENDS)
    return f"{first} {rng.choice(FIRM_ENDS if kind == 'firm' else STUDY_ENDS)}"


class NameMaker:
    """Makes names that differ from all that it made or was told of before."""

    def __init__(self, rng: SeededRandom, taken: frozenset[str] = frozenset()) -> None:
        self._rng, self._taken = rng, set(taken)

    def new(self, kind: EntityKind) -> str:
        return self._unlike_others(lambda: NEW[kind](self._rng))

    def alike(self, kind: EntityKind, name: str) -> str:
        """A name of the same kind that is easily taken for this one."""
        return self._unlike_others(lambda: _alike(kind, name, self._rng))

    def _unlike_others(self, make: Callable[[], str]) -> str:
        name = make()
        while name in self._taken:
            name = make()
        self._taken.add(name)
        return name
