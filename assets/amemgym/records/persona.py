"""A user's persona: one row of the pool, in the columns of Nemotron-Personas-USA, and the profile made from it."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, cast

from pydantic import Field

from assets.amemgym.records.user import UserRecord
from assets.records.base import Name, Record, Text
from assets.records.json_text import JsonError, parse_json

LIST_COLUMNS = frozenset({"skills_and_expertise_list", "hobbies_and_interests_list"})
# A string of a Python list literal in either quotes, and the escapes that `repr` writes in it.
QUOTED = re.compile(r"'((?:[^'\\]|\\.)*)'|\"((?:[^\"\\]|\\.)*)\"")
ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U00(0[0-9a-f]{5}|10[0-9a-f]{4})|(.))")
CONTROLS = {"n": "\n", "r": "\r", "t": "\t"}


class Persona(UserRecord):
    """A persona as sampled; null and empty strings of the pool are both ""."""

    professional_persona: str = Field(description="the person at work")
    sports_persona: str = Field(description="the person and sports")
    arts_persona: str = Field(description="the person and the arts")
    travel_persona: str = Field(description="the person and travelling")
    culinary_persona: str = Field(description="the person and food")
    persona: str = Field(description="the person in two or three sentences")
    cultural_background: str = Field(description="family, places and values")
    skills_and_expertise: str = Field(description="what the person can do, as prose")
    skills_and_expertise_list: tuple[str, ...] = Field(description="the same, one by one")
    hobbies_and_interests: str = Field(description="what the person likes to do, as prose")
    hobbies_and_interests_list: tuple[str, ...] = Field(description="the same, one by one")
    career_goals_and_ambitions: str = Field(description="what the person wants to reach")
    sex: str = Field(description="as the census has it")
    age: int = Field(description="in years")
    marital_status: str = Field(description="code of the census")
    education_level: str = Field(description="code of the census")
    bachelors_field: str = Field(description="code of the census, for those with a degree")
    occupation: str = Field(description="code of the census")
    city: str = Field(description="where the person lives")
    state: str = Field(description="of the country")
    zipcode: str = Field(description="as text, with its leading zeros")
    country: str = Field(description="as the pool writes it")

    @classmethod
    def from_row(cls, row: Mapping[str, object]) -> "Persona":
        """Read one pool row. Raises pydantic's ValidationError when a value cannot be what its column says."""
        fields: dict[str, Any] = {}
        for name in PERSONA_COLUMNS:
            read = parse_list if name in LIST_COLUMNS else _plain
            fields[name] = read(row.get(name))
        return cls(user_id=fields.pop("uuid"), **fields)


PERSONA_COLUMNS = ("uuid", *list(Persona.model_fields)[1:])  # a column for each field; the first one, `user_id`, is the uuid


def parse_list(value: object) -> tuple[str, ...]:
    """Read a list column: a real list, JSON, or the text of a Python list literal. Nothing is evaluated."""
    if value is None:
        return ()
    if isinstance(value, (list, tuple)):
        return _clean_items(map(str, cast(Sequence[object], value)))
    text = str(value).strip()
    if not text.startswith("["):
        return _clean_items(text.split(","))
    try:
        return _clean_items(map(str, parse_json(text)))
    except JsonError:
        # A Python literal, which is read by pattern: to evaluate a stranger's text would run it.
        return _clean_items(_unescape_text(single or double) for single, double in QUOTED.findall(text))


def _clean_items(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(filter(None, dict.fromkeys(map(str.strip, items))))


def _unescape_text(text: str) -> str:
    return ESCAPE.sub(lambda found: CONTROLS.get(found[4], found[4]) or chr(int(found[1] or found[2] or found[3], 16)), text)


def _plain(value: object) -> object:
    if value is None:
        return ""
    return value.strip() if isinstance(value, str) else value


class Companion(Record):
    """Somebody in the user's life, who keeps name, sex and relation throughout."""

    name: Name = Field(description="the name by which the user speaks of the person")
    sex: Literal["female", "male"] = Field(description="of the person")
    relation: Name = Field(description="what the user says after my, such as wife, boss or old friend")


class Animal(Record):
    """An animal of the user."""

    name: Name = Field(description="its name")
    kind: Name = Field(description="such as dog or cat")


class Cast(Record):
    """The people and the setting of a user's life that no state variable tracks; empty where the recipe has none."""

    people: tuple[Companion, ...] = Field(default=(), description="people who may turn up again")
    animals: tuple[Animal, ...] = Field(default=(), description="the user's animals")
    home: str = Field(default="", description="what the user lives in, where, and with whom")
    rooms: tuple[Name, ...] = Field(
        default=(), description="all that belongs to the home, inside and outside; none are unknown"
    )
    work: str = Field(default="", description="what fills the user's working days")
    getting_about: str = Field(default="", description="how the user gets from place to place")
    voice: str = Field(
        default="", description="how the user types messages; drawn, and shown where somebody writes as the user"
    )

    @property
    def lines(self) -> list[str]:
        """One `label: value` line for each part that there is, as prompts show it after the profile."""
        people = [f"{person.name} ({person.relation}, {person.sex})" for person in self.people]
        animals = [f"{animal.name} ({animal.kind})" for animal in self.animals]
        parts = {
            "People": "; ".join(people),
            "Animals": "; ".join(animals),
            "Home": self.home,
            "Rooms": ", ".join(self.rooms),
            "Work": self.work,
            "Gets about": self.getting_about,
        }
        return [f"{label}: {value}" for label, value in parts.items() if value]

    @property
    def names_by_role(self) -> dict[str, str]:
        """The name of whoever is the only one of a relation, or of a kind of animal."""
        roles = [(person.relation.lower(), person.name) for person in self.people]
        roles += [(animal.kind.lower(), animal.name) for animal in self.animals]
        counts = Counter(role for role, _ in roles)
        return {role: name for role, name in roles if counts[role] == 1}


class UserProfile(UserRecord):
    """The fields of the reference's `user_profile`, and the cast; `in_prompt` is what the models read."""

    name: Text = Field(description="found in the persona's texts")
    age: int = Field(description="in years")
    gender: str = Field(description="in lower case")
    marital_status: str = Field(description="in plain words")
    education_level: str = Field(description="with the subject of a degree, where there is one")
    occupation: str = Field(description="in plain words")
    hobbies_and_interests: str = Field(description="separated by commas")
    skills_and_expertise: str = Field(description="separated by commas")
    complementary_info: Text = Field(description="the persona's texts as one paragraph of fewer than 500 words")
    formatted_str: Text = Field(description="the whole profile without the cast")
    cast: Cast = Field(default=Cast(), description="the people and the setting of the user's life")

    @property
    def in_prompt(self) -> str:
        """The whole profile as every later prompt shows it."""
        return "\n".join([self.formatted_str, *self.cast.lines])

    @property
    def with_voice(self) -> str:
        """The same, for whoever goes on with a chat as the user."""
        return "\n".join(filter(None, [self.in_prompt, self.cast.voice and f"Types: {self.cast.voice}"]))
