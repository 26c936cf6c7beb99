"""The rows of the committed persona pool, and their values by kind."""

from __future__ import annotations

import ast
import json
from typing import cast

from assets.pool.generate import DEFAULT_PATH, Row

COLUMNS = [
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
]
LISTS = ("skills_and_expertise_list", "hobbies_and_interests_list")
PROSE = [column for column in COLUMNS[1:13] if column not in LISTS]
POOL = [cast(Row, json.loads(line)) for line in DEFAULT_PATH.read_text(encoding="utf-8").splitlines()]


def age_of(row: Row) -> int:
    age = row["age"]
    assert isinstance(age, int)
    return age


def text_of(row: Row, column: str) -> str:
    value = row[column]
    assert isinstance(value, str)
    return value


def entries_of(row: Row, column: str) -> list[str]:
    return cast(list[str], ast.literal_eval(text_of(row, column)))
