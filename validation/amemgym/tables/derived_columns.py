"""What a row says of other rows and of its own lists, as derived columns, so that column expectations reach it too.

A derived column is named by a sentence; where it is true or false, it should be true in every row.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import eq
from typing import Any

from assets.amemgym.records.rows import TableName
from assets.records.base import Record
from assets.records.columnar import Columns

Tables = Mapping[TableName, Sequence[Record]]
Facts = dict[str, object]


@dataclass(frozen=True)
class Known:
    """What rows may refer to, by their keys. `released`: all users of the set, also those whose rows are elsewhere."""

    released: frozenset[str]
    choices: dict[tuple[str, str], frozenset[str]]
    states: dict[tuple[str, int, str], str]
    periods: frozenset[tuple[str, int]]
    required: dict[tuple[str, str], tuple[str, ...]]
    options: dict[tuple[str, str, str], tuple[str, ...]]


def known_of(tables: Tables, *, released: frozenset[str]) -> Known:
    """Index the rows that others refer to."""
    rows: dict[TableName, Sequence[Any]] = dict(tables)
    return Known(
        released=released,
        choices={(row.user_id, row.variable): frozenset(row.choices) for row in rows["state_variables"]},
        states={(row.user_id, row.period, row.variable): row.value for row in rows["states"]},
        periods=frozenset((row.user_id, row.period) for row in rows["periods"]),
        required={(row.user_id, row.question_id): tuple(row.required_info) for row in rows["questions"]},
        options={(row.user_id, row.question_id, row.choice_id): tuple(row.state) for row in rows["answer_choices"]},
    )


def _user(row: Any, _: Known) -> Facts:
    return {
        "words of complementary_info": len(row.complementary_info.split()),
        "name in formatted_str": row.name in row.formatted_str,
    }


def _state_variable(row: Any, known: Known) -> Facts:
    return {
        "user exists": row.user_id in known.released,
        "number of choices": len(row.choices),
        "choices differ": len(set(row.choices)) == len(row.choices),
        "number of merged types": len(row.merged_from),
    }


def _period(row: Any, known: Known) -> Facts:
    first = row.period == 0
    return {
        "user exists": row.user_id in known.released,
        "period 0 and no other lacks start and summary": (row.period_start is None, row.period_summary is None)
        == (first, first),
    }


def _state(row: Any, known: Known) -> Facts:
    legal = known.choices.get((row.user_id, row.variable), frozenset[str]())
    before = known.states.get((row.user_id, row.period - 1, row.variable))
    return {
        "period exists": (row.user_id, row.period) in known.periods,
        "value is a choice of the variable": row.value in legal,
        "old_value is the value before, where that differs": row.old_value == (None if before in (row.value, None) else before),
    }


def _session(row: Any, known: Known) -> Facts:
    states = [known.states.get((row.user_id, row.period, name)) for name in row.exposed_states]
    return {
        "period exists": (row.user_id, row.period) in known.periods,
        "sessions of period 0 and no others lack an event": (row.event is None) == (row.period == 0),
        "number of exposed states": len(row.exposed_states),
        "exposed values are those of the period": states == list(row.exposed_states.values()),
    }


def _question(row: Any, known: Known) -> Facts:
    return {
        "user exists": row.user_id in known.released,
        "number of variables": len(row.required_info),
        "variables differ": len(set(row.required_info)) == len(row.required_info),
        "variables exist": all((row.user_id, name) in known.choices for name in row.required_info),
        "number of golden choices": len(row.golden),
        "golden choices exist": all((row.user_id, row.question_id, one) in known.options for one in row.golden),
        "golden choices match the states": all(_is_right(row, period, known) for period in range(len(row.golden))),
    }


def _is_right(row: Any, period: int, known: Known) -> bool:
    state = tuple(known.states.get((row.user_id, period, name)) for name in row.required_info)
    return known.options.get((row.user_id, row.question_id, row.golden[period])) == state


def _answer_choice(row: Any, known: Known) -> Facts:
    names = known.required.get((row.user_id, row.question_id), ())
    legal = [known.choices.get((row.user_id, name), frozenset[str]()) for name in names]
    return {
        "question exists": (row.user_id, row.question_id) in known.required,
        "state has a choice of each variable": len(row.state) == len(legal) > 0
        and all(value in choices for value, choices in zip(row.state, legal, strict=True)),
    }


def vote_facts(votes: Columns, known: Known) -> Columns:
    """Of rows of gate_records by column, because there are so many."""
    there = [user in known.released for user in votes["user_id"]]
    return {"released tells whether the user is in users": list(map(eq, votes["released"], there))}


def _failure(row: Any, known: Known) -> Facts:
    return {"user is not in users": row.user_id not in known.released}


FACTS: dict[TableName, Callable[[Any, Known], Facts]] = {
    "users": _user,
    "state_variables": _state_variable,
    "periods": _period,
    "states": _state,
    "sessions": _session,
    "questions": _question,
    "answer_choices": _answer_choice,
    "failures": _failure,
}
