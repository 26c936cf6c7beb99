"""Age, family, schooling and work status, in rough proportion to US adults."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from tests.support.persona_pool.chance import Chance
from tests.support.persona_pool.tables import DEGREES, EDUCATION, Sex

T = TypeVar("T")

AGE_BANDS = ((18, 24), (25, 34), (35, 44), (45, 54), (55, 64), (65, 74), (75, 85))
AGE_WEIGHTS = (12, 18, 17, 16, 16, 13, 8)

MARITAL = ("never_married", "married_present", "separated", "widowed", "divorced")
# first age the row applies to -> weights in the order of MARITAL
MARITAL_WEIGHTS = {
    18: (1, 0, 0, 0, 0),
    20: (90, 9, 1, 0, 0),
    25: (52, 42, 2, 0, 4),
    35: (24, 59, 3, 1, 13),
    45: (16, 61, 3, 2, 18),
    55: (11, 62, 2, 6, 19),
    65: (6, 60, 1, 15, 18),
    75: (4, 50, 1, 35, 10),
}
# first age the row applies to -> weights in the order of EDUCATION
EDUCATION_WEIGHTS = {
    18: (0, 12, 58, 30, 0, 0, 0),
    20: (0, 6, 40, 46, 8, 0, 0),
    22: (1, 5, 32, 32, 10, 20, 0),
    26: (2, 5, 27, 18, 11, 28, 9),
    30: (3, 5, 26, 15, 11, 25, 15),
    65: (5, 7, 30, 17, 9, 18, 14),
}
FIELDS = ("arts_humanities", "business", "education", "stem", "stem_related")
FIELD_WEIGHTS = (24, 20, 13, 28, 15)
# first age the row applies to -> percent retired
RETIRED_PERCENT = {18: 0, 60: 12, 62: 35, 67: 76, 72: 93, 79: 100}


@dataclass(frozen=True)
class Census:
    """What a questionnaire would know about a person."""

    sex: Sex
    age: int
    marital: str
    education: str
    field: str | None
    status: str
    children: str | None


def draw_census(chance: Chance) -> Census:
    """Draw the answers of one person so that they fit together."""
    sex: Sex = "Female" if chance.happens(51, "sex") else "Male"
    low, high = AGE_BANDS[chance.weighted(AGE_WEIGHTS, "age band")]
    age = low + chance.below(high - low + 1, "age")
    marital = MARITAL[chance.weighted(_at(MARITAL_WEIGHTS, age), "marital")]
    education = EDUCATION[chance.weighted(_at(EDUCATION_WEIGHTS, age), "education")]
    return Census(
        sex=sex,
        age=age,
        marital=marital,
        education=education,
        field=_field(education, chance),
        status=_status(age, education, chance),
        children=_children(age, marital, chance),
    )


def _at(table: dict[int, T], age: int) -> T:
    return table[max(start for start in table if start <= age)]


def _field(education: str, chance: Chance) -> str | None:
    if education not in DEGREES:
        return None
    return FIELDS[chance.weighted(FIELD_WEIGHTS, "field")]


def _status(age: int, education: str, chance: Chance) -> str:
    if chance.happens(_at(RETIRED_PERCENT, age), "retired"):
        return "retired"
    schooled = education in ("high_school", "some_college")
    if age <= 23 and schooled and chance.happens(40, "student"):
        return "student"
    if 24 <= age <= 64 and chance.happens(5, "at home"):
        return "home"
    return "working"


def _children(age: int, marital: str, chance: Chance) -> str | None:
    single = marital == "never_married"
    if 27 <= age <= 50 and chance.happens(12 if single else 65, "children"):
        return "kids"
    if age >= 55 and chance.happens(10 if single else 80, "children"):
        return "grown"
    return None
