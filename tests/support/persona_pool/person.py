"""A whole invented person: census answers, name, place, work and hobbies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tests.support.persona_pool.census import Census, draw_census
from tests.support.persona_pool.chance import Chance
from tests.support.persona_pool.deck import Deck, allowed
from tests.support.persona_pool.tables import EDUCATION, Heritage, Hobby, Occupation, Phase, Place, Tables

MARITAL_TAGS = {
    "never_married": "never",
    "married_present": "married",
    "separated": "separated",
    "widowed": "widowed",
    "divorced": "divorced",
}
NO_JOB = {"student": "student", "home": "not_in_workforce"}


@dataclass(frozen=True)
class Person:
    """Everything the prose may rely on."""

    census: Census
    traits: frozenset[str]
    heritage: Heritage
    first: str
    last: str
    place: Place
    work: Occupation
    occupation: str
    hobbies: Sequence[Hobby]

    @property
    def name(self) -> str:
        return f"{self.first} {self.last}"

    @property
    def phase(self) -> Phase:
        if self.census.age < 35:
            return "early"
        return "mid" if self.census.age < 55 else "late"


@dataclass
class Town:
    """What the pool remembers while it fills with people."""

    tables: Tables
    deck: Deck = field(default_factory=Deck)
    names: set[str] = field(default_factory=set[str])


def draw_person(town: Town, chance: Chance) -> Person:
    """Invent the next person of the town."""
    census = draw_census(chance)
    places = town.tables.places.places
    place = places[chance.weighted([p.weight for p in places], "place")]
    traits = _traits(census, place)
    heritage, first, last = _name(town, traits, chance)
    work = _work(town, census, chance)
    return Person(
        census=census,
        traits=traits,
        heritage=heritage,
        first=first,
        last=last,
        place=place,
        work=town.tables.occupations[work],
        occupation="retired" if census.status == "retired" else work,
        hobbies=_hobbies(town, census.age, chance),
    )


def _traits(census: Census, place: Place) -> frozenset[str]:
    age = census.age
    by_age = {
        "under30": age < 30,
        "under45": age < 45,
        "under60": age < 60,
        "mid": 30 <= age < 55,
        "45plus": age >= 45,
        "60plus": age >= 60,
    }
    traits = {tag for tag, holds in by_age.items() if holds}
    traits |= {census.sex, census.status, MARITAL_TAGS[census.marital], place.state}
    return frozenset(traits | ({census.children} if census.children else set()))


def _name(town: Town, traits: frozenset[str], chance: Chance) -> tuple[Heritage, str, str]:
    heritages = list(town.tables.heritages.values())
    heritage = heritages[chance.weighted([h.weight for h in heritages], "heritage")]
    own = chance.below(100, "name kind") >= heritage.common
    pool = heritage if own else town.tables.heritages["common"]
    firsts = allowed(pool.female if "Female" in traits else pool.male, traits)
    free = [f"{first}|{last}" for first in firsts for last in heritage.surnames if f"{first} {last}" not in town.names]
    first, last = _least_used_name(town, free, chance)
    town.names.add(f"{first} {last}")
    return heritage, first, last


def _least_used_name(town: Town, free: list[str], chance: Chance) -> tuple[str, str]:
    firsts = sorted({pair.split("|")[0] for pair in free})
    first = town.deck.pick(firsts, "first name", chance)
    lasts = [pair.split("|")[1] for pair in free if pair.split("|")[0] == first]
    return first, town.deck.pick(lasts, "surname", chance)


def _work(town: Town, census: Census, chance: Chance) -> str:
    if census.status in NO_JOB:
        return NO_JOB[census.status]
    fitting = [key for key, job in town.tables.occupations.items() if job.choose and _fits(job, census)]
    return town.deck.pick(fitting, "occupation", chance)


def _fits(job: Occupation, census: Census) -> bool:
    low, high = (EDUCATION.index(level) for level in job.edu)
    if not low <= EDUCATION.index(census.education) <= high:
        return False
    if census.field is not None and census.field not in job.fields:
        return False
    return census.status == "retired" or job.min_age <= census.age <= job.max_age


def _hobbies(town: Town, age: int, chance: Chance) -> list[Hobby]:
    count = 3 + chance.weighted((35, 40, 25), "hobby count")
    groups = list(town.tables.hobbies.values())
    start = chance.below(len(groups), "hobby group")
    chosen: dict[str, Hobby] = {}
    for turn in range(count):
        group = groups[(start + turn) % len(groups)]
        fitting = [key for key, hobby in group.items() if key not in chosen and hobby.min_age <= age <= hobby.max_age]
        key = town.deck.pick(fitting, f"hobby {turn}", chance)
        chosen[key] = group[key]
    return list(chosen.values())
