"""The column contracts of the released tables: one suite for each, made for a recipe.

Names, order and types of columns follow from the row records; what a row says of others is in `table_facts`.
"""

import types
from collections.abc import Callable, Iterator
from datetime import date, datetime
from typing import Any, Literal, Union, get_args, get_origin

from assets.amemgym.records.rows import KEYS, TABLES, TableName
from assets.amemgym.user_profiles import PROFILE_WORD_LIMIT
from assets.recipe.recipe import Recipe
from validation.expectations.expectation import (
    Promise,
    among,
    between,
    columns_are,
    later,
    matches,
    moment,
    never_missing,
    of_type,
    rows_are,
    true,
    unique,
    written,
)

OLDEST = 120
QUESTION_ID, CHOICE_ID = r"^q\d{2,}$", r"^q\d{2,}-c\d+$"


def suite(table: TableName, *, recipe: Recipe, users: int) -> list[Promise]:
    """All promises of a table that holds the rows of so many users."""
    own, fields = MORE[table](recipe, users), TABLES[table].model_fields
    looked_at = dict.fromkeys(str(promise.options["column"]) for promise in own if "column" in promise.options)
    derived = [column for column in looked_at if column not in fields]
    return [columns_are(fields, derived=derived), unique(*KEYS[table]), *_kinds(table), *own]


def _kinds(table: TableName) -> Iterator[Promise]:
    """What the annotations of the table's rows promise."""
    for name, field in TABLES[table].model_fields.items():
        kind: Any = field.annotation
        optional = get_origin(kind) in (Union, types.UnionType) and type(None) in get_args(kind)
        if not optional:
            yield never_missing(name)
        if kind in (str, int, bool):
            yield of_type(name, kind)
        elif get_origin(kind) is Literal:
            yield among(name, get_args(kind))


def _users(recipe: Recipe, users: int) -> list[Promise]:
    return [
        rows_are(users, "a row for each user"),
        among("start_date", [recipe.start_date.isoformat()]),
        between("age", 0, OLDEST),
        between("words of complementary_info", 1, PROFILE_WORD_LIMIT - 1),
        true("name in formatted_str"),
        *(promise for name in ("user_id", "name", "complementary_info", "formatted_str") for promise in written(name)),
    ]


def _state_variables(recipe: Recipe, _: int) -> list[Promise]:
    count = recipe.num_choices_per_state
    return [
        unique("user_id", "position"),
        true("user exists"),
        between("position", 0),
        between("number of choices", count, count),
        true("choices differ"),
        between("number of merged types", 1, recipe.num_questions),
        *written("variable"),
    ]


def _periods(recipe: Recipe, users: int) -> list[Promise]:
    return [
        rows_are(users * (recipe.num_periods + 1), f"{recipe.num_periods + 1} rows for each user"),
        true("user exists"),
        between("period", 0, recipe.num_periods),
        true("period 0 and no other lacks start and summary"),
        moment("period_start", date),
        moment("period_end", date),
        later("period_end", "period_start"),
        *written("period_summary"),
    ]


def _states(recipe: Recipe, _: int) -> list[Promise]:
    return [
        true("period exists"),
        true("value is a choice of the variable"),
        true("old_value is the value before, where that differs"),
        between("update_count", 0, recipe.max_changes_per_state),
    ]


def _sessions(recipe: Recipe, _: int) -> list[Promise]:
    most = max(recipe.max_states_per_query, recipe.num_changes_per_period + 1)
    return [
        unique("user_id", "session_time"),
        true("period exists"),
        between("session", 0),
        moment("session_time", datetime),
        true("sessions of period 0 and no others lack an event"),
        between("number of exposed states", 1, most),
        true("exposed values are those of the period"),
        *written("event"),
        *written("query"),
    ]


def _questions(recipe: Recipe, users: int) -> list[Promise]:
    states, golden = recipe.num_states_per_question, recipe.num_periods + 1
    return [
        unique("user_id", "query"),
        rows_are(users * recipe.num_questions, f"{recipe.num_questions} rows for each user"),
        true("user exists"),
        matches("question_id", QUESTION_ID, "is q and a number"),
        *written("query"),
        between("number of variables", states, states),
        true("variables differ"),
        true("variables exist"),
        between("number of golden choices", golden, golden),
        true("golden choices exist"),
        true("golden choices match the states"),
    ]


def _answer_choices(recipe: Recipe, _: int) -> list[Promise]:
    return [
        unique("user_id", "question_id", "position"),
        unique("user_id", "question_id", "state"),
        unique("user_id", "question_id", "answer"),
        true("question exists"),
        matches("choice_id", CHOICE_ID, "is the question's id, -c and a number"),
        between("position", 0, recipe.num_choices_per_state**recipe.num_states_per_question - 1),
        true("state has a choice of each variable"),
        *written("answer"),
    ]


def _gate_records(_: Recipe, __: int) -> list[Promise]:
    return [
        true("released tells whether the user is in users"),
        *(between(name, 0) for name in ("number", "draft", "refinement", "vote")),
        *written("text"),
    ]


def _failures(_: Recipe, __: int) -> list[Promise]:
    return [true("user is not in users"), between("position", 0), *written("message")]


MORE: dict[TableName, Callable[[Recipe, int], list[Promise]]] = {
    "users": _users,
    "state_variables": _state_variables,
    "periods": _periods,
    "states": _states,
    "sessions": _sessions,
    "questions": _questions,
    "answer_choices": _answer_choices,
    "gate_records": _gate_records,
    "failures": _failures,
}
