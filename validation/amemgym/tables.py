"""What the columns of AMemGym's released tables must hold, beside what follows from the classes of their rows.

A derived column lets expectations about columns reach what a row says of other rows and of its own lists. Its name is a
sentence; where its values are true or false, they should be true in every row.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any

from assets.amemgym.episodes import EPISODES
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.question import AnswerSet
from assets.amemgym.records.state import SessionSet
from assets.amemgym.tables import gate_record_rows, table_rows
from assets.amemgym.user_profiles import PROFILE_WORD_LIMIT
from assets.records.base import Failure
from assets.records.common_tables import failure_row
from validation.expectations.expectation import (
    ColumnExpectation,
    among,
    between,
    iso_time,
    later,
    matches,
    rows_are,
    true,
    unique,
    written,
)
from validation.expectations.validate import TableExpectations, Tables
from validation.rules import RecordsByStage

OLDEST = 120
QUESTION_ID, CHOICE_ID = r"^q\d{2,}$", r"^q\d{2,}-c\d+$"


def _users(recipe: AMemGymRecipe, users: int) -> list[ColumnExpectation]:
    return [
        rows_are(users, "a row for each user"),
        among("start_date", [recipe.start_date.isoformat()]),
        between("age", 0, OLDEST),
        between("words of complementary_info", 1, PROFILE_WORD_LIMIT - 1),
        true("name in formatted_str"),
        *(one for name in ("user_id", "name", "complementary_info", "formatted_str") for one in written(name)),
    ]


def _state_variables(recipe: AMemGymRecipe, _: int) -> list[ColumnExpectation]:
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


def _periods(recipe: AMemGymRecipe, users: int) -> list[ColumnExpectation]:
    return [
        rows_are(users * (recipe.num_periods + 1), f"{recipe.num_periods + 1} rows for each user"),
        true("user exists"),
        between("period", 0, recipe.num_periods),
        true("period 0 and no other lacks start and summary"),
        iso_time("period_start", date),
        iso_time("period_end", date),
        later("period_end", "period_start"),
        *written("period_summary"),
    ]


def _states(recipe: AMemGymRecipe, _: int) -> list[ColumnExpectation]:
    return [
        true("period exists"),
        true("value is a choice of the variable"),
        true("old_value is the value before, where that differs"),
        between("update_count", 0, recipe.max_changes_per_state),
    ]


def _sessions(recipe: AMemGymRecipe, _: int) -> list[ColumnExpectation]:
    most = max(recipe.max_states_per_query, recipe.num_changes_per_period + 1)
    return [
        unique("user_id", "session_time"),
        true("period exists"),
        between("session", 0),
        iso_time("session_time", datetime),
        true("sessions of period 0 and no others lack an event"),
        between("number of exposed states", 1, most),
        true("exposed values are those of the period"),
        *written("event"),
        *written("query"),
    ]


def _questions(recipe: AMemGymRecipe, users: int) -> list[ColumnExpectation]:
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


def _answer_choices(recipe: AMemGymRecipe, _: int) -> list[ColumnExpectation]:
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


def _gate_records(_: AMemGymRecipe, __: int) -> list[ColumnExpectation]:
    return [
        true("released tells whether the user is in users"),
        *(between(name, 0) for name in ("number", "draft", "refinement", "vote")),
        *written("text"),
    ]


def _failures(_: AMemGymRecipe, __: int) -> list[ColumnExpectation]:
    return [true("user is not in users"), between("position", 0), *written("message")]


EXPECTATIONS: dict[str, Callable[[AMemGymRecipe, int], list[ColumnExpectation]]] = {
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


Facts = dict[str, object]
# The tables whose rows others refer to.
REFERENCED = ("state_variables", "states", "periods", "questions", "answer_choices")


@dataclass(frozen=True)
class ReferencedRows:
    """What rows may refer to, by key. `released`: all users of the set, also those whose rows are elsewhere."""

    released: frozenset[str]
    choices: dict[tuple[str, str], frozenset[str]]
    states: dict[tuple[str, int, str], str]
    periods: frozenset[tuple[str, int]]
    required: dict[tuple[str, str], tuple[str, ...]]
    options: dict[tuple[str, str, str], tuple[str, ...]]


def referenced_rows(tables: Tables, *, released: frozenset[str]) -> ReferencedRows:
    rows: dict[str, Sequence[Any]] = {name: tables.get(name, ()) for name in REFERENCED}
    return ReferencedRows(
        released=released,
        choices={(row.user_id, row.variable): frozenset(row.choices) for row in rows["state_variables"]},
        states={(row.user_id, row.period, row.variable): row.value for row in rows["states"]},
        periods=frozenset((row.user_id, row.period) for row in rows["periods"]),
        required={(row.user_id, row.question_id): tuple(row.required_info) for row in rows["questions"]},
        options={(row.user_id, row.question_id, row.choice_id): tuple(row.state) for row in rows["answer_choices"]},
    )


def _user_facts(row: Any, _: ReferencedRows) -> Facts:
    return {
        "words of complementary_info": len(row.complementary_info.split()),
        "name in formatted_str": row.name in row.formatted_str,
    }


def _state_variable_facts(row: Any, refs: ReferencedRows) -> Facts:
    return {
        "user exists": row.user_id in refs.released,
        "number of choices": len(row.choices),
        "choices differ": len(set(row.choices)) == len(row.choices),
        "number of merged types": len(row.merged_from),
    }


def _period_facts(row: Any, refs: ReferencedRows) -> Facts:
    first = row.period == 0
    return {
        "user exists": row.user_id in refs.released,
        "period 0 and no other lacks start and summary": (row.period_start is None, row.period_summary is None)
        == (first, first),
    }


def _state_facts(row: Any, refs: ReferencedRows) -> Facts:
    legal = refs.choices.get((row.user_id, row.variable), frozenset[str]())
    before = refs.states.get((row.user_id, row.period - 1, row.variable))
    return {
        "period exists": (row.user_id, row.period) in refs.periods,
        "value is a choice of the variable": row.value in legal,
        "old_value is the value before, where that differs": row.old_value == (None if before in (row.value, None) else before),
    }


def _session_facts(row: Any, refs: ReferencedRows) -> Facts:
    states = [refs.states.get((row.user_id, row.period, name)) for name in row.exposed_states]
    return {
        "period exists": (row.user_id, row.period) in refs.periods,
        "sessions of period 0 and no others lack an event": (row.event is None) == (row.period == 0),
        "number of exposed states": len(row.exposed_states),
        "exposed values are those of the period": states == list(row.exposed_states.values()),
    }


def _question_facts(row: Any, refs: ReferencedRows) -> Facts:
    return {
        "user exists": row.user_id in refs.released,
        "number of variables": len(row.required_info),
        "variables differ": len(set(row.required_info)) == len(row.required_info),
        "variables exist": all((row.user_id, name) in refs.choices for name in row.required_info),
        "number of golden choices": len(row.golden),
        "golden choices exist": all((row.user_id, row.question_id, one) in refs.options for one in row.golden),
        "golden choices match the states": all(_is_right(row, period, refs) for period in range(len(row.golden))),
    }


def _is_right(row: Any, period: int, refs: ReferencedRows) -> bool:
    state = tuple(refs.states.get((row.user_id, period, name)) for name in row.required_info)
    return refs.options.get((row.user_id, row.question_id, row.golden[period])) == state


def _answer_choice_facts(row: Any, refs: ReferencedRows) -> Facts:
    names = refs.required.get((row.user_id, row.question_id), ())
    legal = [refs.choices.get((row.user_id, name), frozenset[str]()) for name in names]
    return {
        "question exists": (row.user_id, row.question_id) in refs.required,
        "state has a choice of each variable": len(row.state) == len(legal) > 0
        and all(value in choices for value, choices in zip(row.state, legal, strict=True)),
    }


def _gate_record_facts(row: Any, refs: ReferencedRows) -> Facts:
    return {"released tells whether the user is in users": row.released == (row.user_id in refs.released)}


def _failure_facts(row: Any, refs: ReferencedRows) -> Facts:
    return {"user is not in users": row.user_id not in refs.released}


FACTS: dict[str, Callable[[Any, ReferencedRows], Facts]] = {
    "users": _user_facts,
    "state_variables": _state_variable_facts,
    "periods": _period_facts,
    "states": _state_facts,
    "sessions": _session_facts,
    "questions": _question_facts,
    "answer_choices": _answer_choice_facts,
    "gate_records": _gate_record_facts,
    "failures": _failure_facts,
}


def derived_columns(tables: Tables, released: frozenset[str]) -> Callable[[str, Any], Facts]:
    """For rows that refer to each other: a function of table and row that gives the values of the derived columns."""
    refs = referenced_rows(tables, released=released)
    return lambda table, row: FACTS[table](row, refs)


def item_rows(records: RecordsByStage, user_id: str) -> Tables:
    """All rows of one finished user."""
    episode: Any = records[EPISODES.name][user_id]
    gated = [rows.get(user_id) for rows in records.values()]
    votes = [vote for one in gated if isinstance(one, (SessionSet, AnswerSet)) for vote in one.gate_records]
    return {**table_rows(episode), "gate_records": gate_record_rows(user_id, votes, released=True)}


def failure_rows(failures: Sequence[Failure], released: frozenset[str]) -> Tables:
    return {
        "gate_records": [
            row
            for failure in failures
            for row in gate_record_rows(failure.user_id, failure.gate_records, released=failure.user_id in released)
        ],
        "failures": [failure_row(failure) for failure in failures],
    }


TABLE_EXPECTATIONS = TableExpectations(EXPECTATIONS, derived_columns, item_rows, failure_rows)
