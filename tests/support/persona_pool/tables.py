"""The written tables, loaded and checked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

FOLDER = Path(__file__).parent / "tables"

EDUCATION = (
    "less_than_9th",
    "9th_12th_no_diploma",
    "high_school",
    "some_college",
    "associates",
    "bachelors",
    "graduate",
)
DEGREES = ("bachelors", "graduate")

Sex = Literal["Female", "Male"]
Phase = Literal["early", "mid", "late"]


class Row(BaseModel):
    """A row of a table; an unknown key in the file is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Occupation(Row):
    """One line of work and what can be said about it."""

    role: str
    sector: str
    edu: tuple[str, str]
    skills: list[str] = Field(min_length=6)
    do: list[str] = Field(min_length=2)
    can: list[str] = Field(min_length=2)
    task: str
    goals: dict[Phase, str]
    fields: list[str] = Field(default_factory=list[str])
    min_age: int = 18
    max_age: int = 78
    choose: bool = True


class Hobby(Row):
    """One hobby, the words that name it and what can be said about it."""

    label: str
    words: list[str] = Field(min_length=1)
    ing: list[str] = Field(min_length=2)
    lines: list[str] = Field(min_length=5)
    goal: str
    skill: str
    min_age: int = 18
    max_age: int = 85
    sports: list[str] = Field(default_factory=list[str])
    arts: list[str] = Field(default_factory=list[str])
    travel: list[str] = Field(default_factory=list[str])
    culinary: list[str] = Field(default_factory=list[str])


class Place(Row):
    """A city with one of its zip codes and a little local colour."""

    city: str
    state: str
    zipcode: str = Field(pattern=r"^\d{5}$")
    weight: int
    kind: str
    out: str


class Heritage(Row):
    """Names that go together and the family backgrounds that go with them."""

    weight: int
    common: int
    female: list[str]
    male: list[str]
    surnames: list[str]
    lines: list[str]


class Places(Row):
    """All places and the full names of their states."""

    states: dict[str, str]
    places: list[Place]


@dataclass(frozen=True)
class Tables:
    """Everything the pool is written from."""

    occupations: dict[str, Occupation]
    hobbies: dict[str, dict[str, Hobby]]
    heritages: dict[str, Heritage]
    places: Places
    voices: dict[str, list[str]]


def _read(pattern: str) -> Iterator[tuple[str, Any]]:
    for path in sorted(FOLDER.glob(pattern)):
        yield path.stem, yaml.safe_load(path.read_text(encoding="utf-8"))


def _merged(pattern: str) -> dict[str, Any]:
    return {key: row for _, table in _read(pattern) for key, row in table.items()}


@cache
def load_tables() -> Tables:
    """Read and validate every table, once per process."""
    lines = TypeAdapter(dict[str, list[str]])
    hobbies = TypeAdapter(dict[str, dict[str, Hobby]])
    return Tables(
        occupations=TypeAdapter(dict[str, Occupation]).validate_python(_merged("occupations_*.yaml")),
        hobbies=hobbies.validate_python(dict(_read("hobbies_*.yaml"))),
        heritages=TypeAdapter(dict[str, Heritage]).validate_python(_merged("heritages.yaml")),
        places=Places.model_validate(_merged("places.yaml")),
        voices=lines.validate_python(_merged("voices_*.yaml") | _merged("slots.yaml")),
    )


def all_hobbies(tables: Tables) -> dict[str, Hobby]:
    """The hobbies of every group in one table."""
    return {key: hobby for group in tables.hobbies.values() for key, hobby in group.items()}
