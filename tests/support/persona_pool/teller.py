"""Picks lines for one person and turns them into text."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.persona_pool.chance import Chance
from tests.support.persona_pool.deck import allowed
from tests.support.persona_pool.person import Person, Town
from tests.support.persona_pool.prose import PRONOUNS, REFLEXIVE, age_phrase, fill, names_person, sentence, subjects

DRAWN_SLOTS = ("watch", "music", "museum", "dish", "dest")
SUBJECTS = (*DRAWN_SLOTS, "out")


class Teller:
    """Tells one persona; remembers its slots and names its draws apart."""

    def __init__(self, town: Town, person: Person, chance: Chance) -> None:
        self.person = person
        self.chance = chance
        self._town = town
        self._draws = 0
        self._slots = _fixed_slots(person)

    def pick(self, lines: Sequence[str], *, opening: bool = False) -> str:
        """The least used line that suits the person."""
        options = allowed(lines, self.person.traits)
        if opening:
            options = [line for line in options if names_person(line)]
        self._draws += 1
        return self._town.deck.pick(options, f"line {self._draws}", self.chance)

    def voice(self, table: str, *, opening: bool = False, after: Sequence[str] = ()) -> str:
        """A line of one of the voice tables that repeats no subject of lines before."""
        told = " ".join(after)
        used = [f"${name}" for name in SUBJECTS if f"${name}" in told]
        lines = [line for line in self._town.tables.voices[table] if not any(slot in line for slot in used)]
        return self.pick(lines, opening=opening)

    def put(self, **slots: str) -> None:
        """Set slots that the next lines may use."""
        self._slots |= slots

    def tell(self, lines: Sequence[str], lead: str = "") -> str:
        """Join the lines into one text that opens with the full name."""
        told = [self.filled(line) for line in subjects(lines, lead)]
        return " ".join(sentence(text) for text in told)

    def filled(self, line: str) -> str:
        """The line with every slot replaced."""
        drawn = {name: self.voice(name) for name in DRAWN_SLOTS if f"${name}" in line}
        return fill(line, self._slots | drawn)


def _fixed_slots(person: Person) -> dict[str, str]:
    sex = person.census.sex
    retired = "retired " if person.census.status == "retired" else ""
    return PRONOUNS[sex] | {
        "r": REFLEXIVE[sex],
        "N": person.name,
        "F": person.first,
        "c": person.place.city,
        "kind": person.place.kind,
        "out": person.place.out,
        "age": age_phrase(person.census.age),
        "role": person.work.role,
        "now": f"{retired}{person.work.role}",
        "sector": person.work.sector,
        "task": person.work.task,
    }
