"""The rows of the committed persona pool, and their values by kind."""

from __future__ import annotations

import ast
import json
from typing import cast

from assets.amemgym.records.persona import LIST_COLUMNS, PERSONA_COLUMNS
from tests.support.persona_pool.generate import DEFAULT_PATH, Row

LISTS, HOBBIES = sorted(LIST_COLUMNS), "hobbies_and_interests_list"
PROSE = [column for column in PERSONA_COLUMNS[1:13] if column not in LISTS]
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
