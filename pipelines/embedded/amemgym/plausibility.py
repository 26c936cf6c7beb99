"""The knowledge of what can be true of a person: values that exclude each other, and values that fit age, place and interests.

It is a table, `plausibility.yaml`; nothing here speaks of a single value.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import yaml
from pydantic import BaseModel, ConfigDict

from pipelines.embedded.bank import PLAUSIBILITY

NOT_EMPLOYED = re.compile(r"retired|unemployed|not in (the )?workforce|student|homemaker|no occupation|never worked")
PROFILE_FIELD = re.compile(r"^(?P<label>[A-Z][a-z ]+): (?P<value>.*)$", re.MULTILINE)
AGE = re.compile(r"(?:\baged |\bat )(?P<at>\d{2})\b(?! ?%)|\b(?P<old>\d{2})[- ]years?[- ]old")
PRONOUNS = {"female": re.compile(r"\b(?:she|hers?|herself)\b"), "male": re.compile(r"\b(?:he|him|his|himself)\b")}
STATE_OF_USA = re.compile(r"\b(?P<state>[A-Z]{2}), USA$")
Values = Mapping[str, Sequence[str]]
Pair = dict[str, str]


@dataclass(frozen=True)
class ProfileFields:
    """The fields of a formatted profile that decide what somebody asks about, and what may be true of them."""

    age: int
    gender: str
    marital_status: str
    occupation: str
    home_state: str
    interests: str
    about: str

    @property
    def employed(self) -> bool:
        """True where the profile names paid work."""
        return bool(self.occupation) and not NOT_EMPLOYED.search(self.occupation)


def parse_profile(profile: str) -> ProfileFields:
    """Read `label: value` lines; a profile in another form is read as one text."""
    fields: dict[str, str] = {}
    for match in PROFILE_FIELD.finditer(profile):
        fields[match["label"].lower()] = match["value"]
    age = re.search(r"\d+", fields.get("age", ""))
    home = STATE_OF_USA.search(fields.get("lives in", ""))
    interests = f"{fields.get('hobbies and interests', '')}\n{fields.get('skills and expertise', '')}"
    return ProfileFields(
        # An age that every topic allows for, where the profile says none.
        age=int(age[0]) if age else 40,
        gender=fields.get("gender", "").lower(),
        marital_status=fields.get("marital status", "").lower(),
        occupation=fields.get("occupation", "").lower(),
        home_state=home["state"] if home else "",
        interests=interests.lower(),
        about=fields.get("about", profile).lower(),
    )


def contradictions(person: ProfileFields) -> list[str]:
    """Return what the paragraph says of age and gender against the fields before it."""
    found: list[str] = []
    told = AGE.search(person.about)
    if told and int(told["at"] or told["old"]) != person.age:
        found.append(f"the age is {person.age}, and the text says {told[0].strip()}")
    counts = {gender: len(pronoun.findall(person.about)) for gender, pronoun in PRONOUNS.items()}
    if person.gender in counts and max(counts.values()) > counts[person.gender]:
        found.append(f"the gender is {person.gender}, and the text says otherwise")
    return found


class _Row(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ExclusiveValues(_Row):
    """Nobody has one of the values on the one side and one of those on the other at the same time."""

    because: str
    one: dict[str, tuple[str, ...]]
    other: dict[str, tuple[str, ...]]

    @property
    def pairs(self) -> Iterator[Pair]:
        for (name, values), (other, others) in product(self.one.items(), self.other.items()):
            for value, excluded in product(values, others):
                yield {name: value, other: excluded}


class UnfitValues(_Row):
    """Values that do not fit people of these ages (both included), in one of these states, of this marital status, if any."""

    because: str
    ages: tuple[int, int] = (0, 200)
    lives_in: frozenset[str] = frozenset()
    marital_status: str | None = None
    values: dict[str, tuple[str, ...]]

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


class Plausibility(_Row):
    """The whole table."""

    exclusive: tuple[ExclusiveValues, ...]
    unfit: tuple[UnfitValues, ...]
    fitting: tuple[FittingValues, ...]


@cache
def load_table() -> Plausibility:
    """Read the table once. Raises pydantic.ValidationError that names what is wrong."""
    return Plausibility.model_validate(yaml.load(PLAUSIBILITY.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader))


def exclusive_pairs(choices: Values) -> list[Pair]:
    """Return the pairs of these choices that nobody has at the same time, each once."""
    held: list[Pair] = []
    for row in load_table().exclusive:
        for pair in row.pairs:
            if pair not in held and all(value in choices.get(name, ()) for name, value in pair.items()):
                held.append(pair)
    return held


def unfit_values(choices: Values, person: ProfileFields) -> dict[str, dict[str, str]]:
    """Return the choices that do not fit the person, by variable, each with why."""
    unfit: dict[str, dict[str, str]] = {}
    for row in load_table().unfit:
        if not row.concerns(person):
            continue
        for name, values in row.values.items():
            for value in values:
                if value in choices.get(name, ()):
                    unfit.setdefault(name, {})[value] = row.because
    return unfit


def fitting_values(person: ProfileFields) -> dict[str, str]:
    """Return the values that the person's interests tell, by variable; of several for one variable the table's first."""
    fitting: dict[str, str] = {}
    for row in load_table().fitting:
        if any(word in person.interests for word in row.interests):
            for name, value in row.values.items():
                fitting.setdefault(name, value)
    return fitting
