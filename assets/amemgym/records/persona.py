"""Who a user is: one row of the persona pool, in the columns of Nemotron-Personas-USA, and the profile made from it."""

import re
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from assets.amemgym.records.user import UserRecord
from assets.records.base import Text
from assets.records.json_text import JsonError, parse_json

PERSONA_COLUMNS = (
    "uuid",
    "professional_persona",
    "sports_persona",
    "arts_persona",
    "travel_persona",
    "culinary_persona",
    "persona",
    "cultural_background",
    "skills_and_expertise",
    "skills_and_expertise_list",
    "hobbies_and_interests",
    "hobbies_and_interests_list",
    "career_goals_and_ambitions",
    "sex",
    "age",
    "marital_status",
    "education_level",
    "bachelors_field",
    "occupation",
    "city",
    "state",
    "zipcode",
    "country",
)
LIST_COLUMNS = frozenset({"skills_and_expertise_list", "hobbies_and_interests_list"})
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
        fields: dict[str, Any] = {name: _plain(row.get(name)) for name in PERSONA_COLUMNS if name not in LIST_COLUMNS}
        fields.update({name: parse_list(row.get(name)) for name in LIST_COLUMNS})
        return cls(user_id=fields.pop("uuid"), **fields)


def parse_list(value: object) -> tuple[str, ...]:
    """Read a list column: a real list, JSON, or the text of a Python list literal. Nothing is evaluated."""
    if value is None:
        return ()
    if isinstance(value, (list, tuple)):
        return _cleaned([str(item) for item in value])  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    text = str(value).strip()
    if not text.startswith("["):
        return _cleaned(text.split(","))
    try:
        return _cleaned([str(item) for item in parse_json(text)])
    except JsonError:
        return _cleaned([_unescaped(single or double) for single, double in QUOTED.findall(text)])


def _cleaned(items: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.strip() for item in items if item.strip()))


def _unescaped(text: str) -> str:
    return ESCAPE.sub(lambda found: CONTROLS.get(found[4], found[4]) or chr(int(found[1] or found[2] or found[3], 16)), text)


def _plain(value: object) -> object:
    return "" if value is None else value.strip() if isinstance(value, str) else value


class UserProfile(UserRecord):
    """The fields of the reference's `user_profile`; `formatted_str` is what the models read."""

    name: Text = Field(description="found in the persona's texts")
    age: int = Field(description="in years")
    gender: str = Field(description="in lower case")
    marital_status: str = Field(description="in plain words")
    education_level: str = Field(description="with the subject of a degree, where there is one")
    occupation: str = Field(description="in plain words")
    hobbies_and_interests: str = Field(description="separated by commas")
    skills_and_expertise: str = Field(description="separated by commas")
    complementary_info: Text = Field(description="the persona's texts as one paragraph of fewer than 500 words")
    formatted_str: Text = Field(description="the whole profile as every later prompt shows it")
