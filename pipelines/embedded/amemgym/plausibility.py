"""What can be true of a person: values that exclude each other, and values that fit age, place and interests.

The knowledge is a table, `plausibility.yaml`; nothing here speaks of a single value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Self

import yaml
from pydantic import BaseModel, ConfigDict, model_validator

from pipelines.embedded.bank import PLAUSIBILITY, load_bank

NOT_EMPLOYED = re.compile(r"retired|unemployed|not in (the )?workforce|student|homemaker|no occupation|never worked")
PROFILE_FIELD = re.compile(r"^(?P<label>[A-Z][a-z ]+): (?P<value>.*)$", re.MULTILINE)
STATE_OF_USA = re.compile(r"\b(?P<state>[A-Z]{2}), USA$")
Values = Mapping[str, Sequence[str]]
Pair = dict[str, str]


@dataclass(frozen=True)
class ProfileFields:
    """The fields of a formatted profile that decide what somebody asks about, and what may be true of them."""

    age: int
    marital_status: str
    occupation: str
    home_state: str
    interests: str
    about: str

    @property
    def employed(self) -> bool:
        """Whether the profile names paid work."""
        return bool(self.occupation) and not NOT_EMPLOYED.search(self.occupation)


def parse_profile(profile: str) -> ProfileFields:
    """Read `label: value` lines; a profile in another form is read as one text."""
    fields = {match["label"].lower(): match["value"] for match in PROFILE_FIELD.finditer(profile)}
    age = re.search(r"\d+", fields.get("age", ""))
    home = STATE_OF_USA.search(fields.get("lives in", ""))
    interests = "\n".join(fields.get(label, "") for label in ("hobbies and interests", "skills and expertise"))
    return ProfileFields(
        age=int(age[0]) if age else 40,
        marital_status=fields.get("marital status", "").lower(),
        occupation=fields.get("occupation", "").lower(),
        home_state=home["state"] if home else "",
        interests=interests.lower(),
        about=fields.get("about", profile).lower(),
    )


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


def _check_values(*tables: Values) -> None:
    """Raise ValueError for a value that the bank does not have: a table that speaks of nothing is no knowledge."""
    known = load_bank().values
    unknown = [(name, value) for table in tables for name, own in table.items() for value in own if value not in known[name]]
    if unknown:
        raise ValueError(f"The bank has no such values: {unknown}.")


class ExclusiveValues(_Row):
    """Nobody has one of the values on the one side and one of those on the other at the same time."""

    because: str
    one: dict[str, tuple[str, ...]]
    other: dict[str, tuple[str, ...]]

    @model_validator(mode="after")
    def check_values(self) -> Self:
        _check_values(self.one, self.other)
        return self

    @property
    def pairs(self) -> Iterator[Pair]:
        for (name, values), (other, others) in product(self.one.items(), self.other.items()):
            yield from ({name: value, other: excluded} for value, excluded in product(values, others))


class UnfitValues(_Row):
    """Values that do not fit people of these ages (both included), in one of these states, of this marital status, if any."""

    because: str
    ages: tuple[int, int] = (0, 200)
    lives_in: frozenset[str] = frozenset()
    marital_status: str | None = None
    values: dict[str, tuple[str, ...]]

    @model_validator(mode="after")
    def check_values(self) -> Self:
        _check_values(self.values)
        return self

    def concerns(self, person: ProfileFields) -> bool:
        return (
            self.ages[0] <= person.age <= self.ages[1]
            and (not self.lives_in or person.home_state in self.lives_in)
            and self.marital_status in (None, person.marital_status)
        )


class FittingValues(_Row):
    """The values with which somebody starts who has one of these words among the interests."""

    interests: tuple[str, ...]
    values: dict[str, str]

    @model_validator(mode="after")
    def check_values(self) -> Self:
        _check_values({name: (value,) for name, value in self.values.items()})
        return self


class Plausibility(_Row):
    """The whole table."""

    exclusive: tuple[ExclusiveValues, ...]
    unfit: tuple[UnfitValues, ...]
    fitting: tuple[FittingValues, ...]


@cache
def load_table() -> Plausibility:
    return Plausibility.model_validate(yaml.load(PLAUSIBILITY.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))


def exclusive_pairs(choices: Values) -> list[Pair]:
    """The pairs of these choices that nobody has at the same time, each once."""
    found = (pair for row in load_table().exclusive for pair in row.pairs)
    held = (pair for pair in found if all(value in choices.get(name, ()) for name, value in pair.items()))
    return list({frozenset(pair.items()): pair for pair in held}.values())


def unfit_values(choices: Values, person: ProfileFields) -> dict[str, dict[str, str]]:
    """The choices that do not fit the person, by variable, each with why."""
    unfit: dict[str, dict[str, str]] = {}
    for row in load_table().unfit:
        for name, values in row.values.items() if row.concerns(person) else ():
            unfit.setdefault(name, {}).update({value: row.because for value in values if value in choices.get(name, ())})
    return {name: values for name, values in unfit.items() if values}


def fitting_values(person: ProfileFields) -> dict[str, str]:
    """The values that the person's interests tell, by variable."""
    rows = [row for row in load_table().fitting if any(word in person.interests for word in row.interests)]
    return {name: value for row in reversed(rows) for name, value in row.values.items()}
