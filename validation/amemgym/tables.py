"""Expectations of the columns of AMemGym's released tables, beside those that follow from the classes of their rows.

A derived column lets expectations about columns reach what a row says of other rows and of its own lists. Its name is a
sentence; where its values are true or false, they should be true in every row.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import chain
from operator import contains
from typing import Any

from assets.amemgym.episodes import EPISODES
from assets.amemgym.tables import TABLES, gate_record_rows
from assets.amemgym.user_profiles import PROFILE_WORD_LIMIT
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import Failure, Record
from assets.records.common_tables import failure_row
from assets.records.flat_tables import rows_of_tables
from assets.reporting.gate_summary import votes_of
from validation.expectations.validate import TableExpectations, Tables
from validation.rules import RecordsOfItem


def suite_parameters(recipe: AMemGymRecipe, users: int) -> dict[str, object]:
    """Return the values that the suites in `validation/expectations/gx/expectations/amemgym` leave to the recipe."""
    states = recipe.num_periods + 1
    return {
        "users": users,
        "states_per_user": states,
        "rows_of_periods": users * states,
        "rows_of_questions": users * recipe.num_questions,
        "start_dates": [recipe.start_date.isoformat()],
        "most_profile_words": PROFILE_WORD_LIMIT - 1,
        "most_states_per_query": max(recipe.max_states_per_query, recipe.num_changes_per_period + 1),
        "last_position": recipe.num_choices_per_state**recipe.num_states_per_question - 1,
        "num_periods": recipe.num_periods,
        "num_questions": recipe.num_questions,
        "num_choices_per_state": recipe.num_choices_per_state,
        "num_states_per_question": recipe.num_states_per_question,
        "max_changes_per_state": recipe.max_changes_per_state,
    }


Facts = dict[str, object]


class ReferencedRows:
    """Values of rows that other rows refer to, by key. `released`: all users of the set, also those of other portions."""

    def __init__(self, tables: Mapping[str, Sequence[Any]], *, released: frozenset[str]) -> None:
        self.released = released
        self.choices: dict[tuple[str, str], frozenset[str]] = {}
        self.states: dict[tuple[str, int, str], str] = {}
        self.periods: set[tuple[str, int]] = set()
        self.required: dict[tuple[str, str], tuple[str, ...]] = {}
        self.options: dict[tuple[str, str, str], tuple[str, ...]] = {}
        for row in tables.get("state_variables", ()):
            self.choices[row.user_id, row.variable] = frozenset(row.choices)
        for row in tables.get("states", ()):
            self.states[row.user_id, row.period, row.variable] = row.value
        for row in tables.get("periods", ()):
            self.periods.add((row.user_id, row.period))
        for row in tables.get("questions", ()):
            self.required[row.user_id, row.question_id] = tuple(row.required_info)
        for row in tables.get("answer_choices", ()):
            self.options[row.user_id, row.question_id, row.choice_id] = tuple(row.state)


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
    is_first = row.period == 0
    lacks_both_or_none = (row.period_start is None) == is_first and (row.period_summary is None) == is_first
    return {
        "user exists": row.user_id in refs.released,
        "period 0 and no other lacks start and summary": lacks_both_or_none,
    }


def _state_facts(row: Any, refs: ReferencedRows) -> Facts:
    legal = refs.choices.get((row.user_id, row.variable), frozenset[str]())
    before = refs.states.get((row.user_id, row.period - 1, row.variable))
    changed_from = None if before == row.value else before
    return {
        "period exists": (row.user_id, row.period) in refs.periods,
        "value is a choice of the variable": row.value in legal,
        "old_value is the value before, where that differs": row.old_value == changed_from,
    }


def _session_facts(row: Any, refs: ReferencedRows) -> Facts:
    is_noise = row.kind != "tells"
    right: dict[str, str | None] = {}
    for name in row.exposed_states:
        right[name] = refs.states.get((row.user_id, row.period, name))
    return {
        "period exists": (row.user_id, row.period) in refs.periods,
        "sessions of period 0 and noise lack an event, and no others": (row.event is None) == (is_noise or row.period == 0),
        "number of exposed states": len(row.exposed_states),
        "exposed values are those of the period": right == row.exposed_states,
    }


def _question_facts(row: Any, refs: ReferencedRows) -> Facts:
    variables = {(row.user_id, name) for name in row.required_info}
    golden = {(row.user_id, row.question_id, choice_id) for choice_id in row.golden}
    return {
        "user exists": row.user_id in refs.released,
        "number of variables": len(row.required_info),
        "number of options_left": len(row.options_left),
        "variables differ": len(set(row.required_info)) == len(row.required_info),
        "variables exist": variables <= refs.choices.keys(),
        "number of golden choices": len(row.golden),
        "golden choices exist": golden <= refs.options.keys(),
        "golden choices match the states": _golden_match_states(row, refs),
    }


def _golden_match_states(row: Any, refs: ReferencedRows) -> bool:
    for period, choice_id in enumerate(row.golden):
        state = [refs.states.get((row.user_id, period, name)) for name in row.required_info]
        if refs.options.get((row.user_id, row.question_id, choice_id)) != tuple(state):
            return False
    return True


def _answer_choice_facts(row: Any, refs: ReferencedRows) -> Facts:
    names = refs.required.get((row.user_id, row.question_id), ())
    legal = [refs.choices.get((row.user_id, name), frozenset[str]()) for name in names]
    fits = len(row.state) == len(legal) > 0 and all(map(contains, legal, row.state))
    return {
        "question exists": (row.user_id, row.question_id) in refs.required,
        "state has a choice of each variable": fits,
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
    """Return a function of table and row that gives the values of the derived columns, for rows that refer to each other."""
    refs = ReferencedRows(tables, released=released)
    return lambda table, row: FACTS[table](row, refs)


def item_rows(records: RecordsOfItem) -> Tables:
    """Return all rows of one finished user."""
    episode: Any = records[EPISODES.name]
    votes = list(chain.from_iterable(map(votes_of, records.values())))
    return {**rows_of_tables(TABLES, episode), "gate_records": gate_record_rows(episode.user_id, votes, released=True)}


def failure_rows(failures: Sequence[Failure], released: frozenset[str]) -> Tables:
    gate_records: list[Record] = []
    for failure in failures:
        gate_records += gate_record_rows(failure.item_id, failure.gate_records, released=failure.item_id in released)
    return {"gate_records": gate_records, "failures": list(map(failure_row, failures))}


TABLE_EXPECTATIONS = TableExpectations(suite_parameters, derived_columns, item_rows, failure_rows)
