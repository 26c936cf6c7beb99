"""Defects in the rows of the released tables."""

from collections.abc import Mapping
from typing import Any

from assets.records.common_tables import failure_row
from tests.support import gate_votes
from tests.validation.clean_set import clean_set
from tests.validation.defects import Defect, Spoil, at, changed, lacking, spoiled, twice


def turned(golden: tuple[str, ...]) -> tuple[str, ...]:
    """Every key a period too early."""
    return (*golden[1:], golden[0])


def row_lost(rows: list[Any]) -> list[Any]:
    return rows[1:]


def row(number: int, **fields: object) -> Spoil:
    """Other fields in the row with this number."""
    return lambda rows: [*rows[:number], spoiled(rows[number], **fields), *rows[number + 1 :]]


def same(field: str) -> Spoil:
    """The first row has this field of the second."""
    return lambda rows: [spoiled(rows[0], **{field: getattr(rows[1], field)}), *rows[1:]]


def at_once(rows: list[Any]) -> list[Any]:
    """The first two sessions at the same time."""
    return same("session_time")(rows)


def failed_and_released(_: list[Any]) -> list[Any]:
    """A failure of a user whose row is there."""
    return [failure_row(gate_votes.failure(item_id=next(iter(clean_set().released))))]


def unreasonable(_: list[Any]) -> list[Any]:
    """A failure for a reason that there is not."""
    return [spoiled(failure_row(gate_votes.failure()), reason="tired")]


IN_TABLES: Mapping[str, tuple[Defect, ...]] = {
    "table users": (
        Defect("a user row twice", "user_id tells the rows apart", twice, "user_id: "),
        Defect("a user row lost", " has a row for each user, 3 in all", row_lost, "found 2"),
        Defect("a name of blanks", "name is not blank", at(name="  "), "user_id: "),
        Defect("a broken encoding", "complementary_info has no unreadable character", at(complementary_info="Le\ufffdn"), "Le"),
        Defect("an impossible age", "age is 0 to 120", at(age=200), "age: 200"),
        Defect("another start", "start_date is 2020-10-01", at(start_date="2020-10-02"), "2020-10-02"),
        Defect("a profile row without its name", "name in formatted_str holds", at(formatted_str="x"), "False"),
    ),
    "table state_variables": (
        Defect("a variable of nobody", "user exists holds", at(user_id="nobody"), "user_id: nobody"),
        Defect("a variable row twice", "user_id, variable tells the rows apart", twice, "variable: "),
        Defect("a lost choice", "number of choices is 3", lacking("choices"), "number of choices: 2"),
        Defect("a choice listed twice", "choices differ holds", at(choices=("a", "a", "b")), "False"),
    ),
    "table periods": (
        Defect("a period row lost", " has 5 rows for each user, 15 in all", row_lost, "found 14"),
        Defect(
            "a period that ends too early", "period_end lies after period_start", row(1, period_end="2020-01-01"), "2020-01-01"
        ),
        Defect("a day that is none", "period_end is a day as YYYY-MM-DD", at(period_end="2020-13-01"), "2020-13-01"),
        Defect(
            "a period without start",
            "period 0 and no other lacks start and summary holds",
            row(1, period_start=None),
            "period: 1",
        ),
    ),
    "table states": (
        Defect("a value that is no choice", "value is a choice of the variable holds", at(value="x"), "period: 0"),
        Defect(
            "a change that was none",
            "old_value is the value before, where that differs holds",
            at(old_value="x"),
            "period: 0",
        ),
        Defect("a state of no period", "period exists holds", at(period=99), "period: 99"),
        Defect("too many changes", "update_count is 0 to 3", at(update_count=9), "update_count: 9"),
    ),
    "table sessions": (
        Defect("two sessions at once", "user_id, session_time tells the rows apart", at_once, "session_time: "),
        Defect("a query of blanks", "query is not blank", at(query=" "), "session: 0"),
        Defect("a time that is none", "session_time is a time as YYYY-MM-DD HH:MM:SS", at(session_time="noon"), "noon"),
        Defect(
            "a false value exposed",
            "exposed values are those of the period holds",
            at(exposed_states={"x": "y"}),
            "session: 0",
        ),
        Defect(
            "a session with an event too many",
            "sessions of period 0 and noise lack an event, and no others holds",
            at(event="Rain."),
            "period: 0",
        ),
    ),
    "table questions": (
        Defect("a wrong key", "golden choices match the states holds", changed("golden", to=turned), "q01"),
        Defect("a key to nothing", "golden choices exist holds", at(golden=("q01-c99",) * 5), "q01"),
        Defect("a key lost", "number of golden choices is 5", lacking("golden"), "number of golden choices: 4"),
        Defect(
            "a period without its reader", "number of options_left is 5", lacking("options_left"), "number of options_left: 4"
        ),
        Defect("a question on nothing", "variables exist holds", at(required_info=("x", "y")), "q01"),
        Defect("a strange id", "question_id is q and a number", at(question_id="first"), "first"),
        Defect("a question row lost", " has 3 rows for each user, 9 in all", row_lost, "found 8"),
    ),
    "table answer_choices": (
        Defect("an orphan answer", "question exists holds", at(question_id="q99"), "q99"),
        Defect("two identical answers", "user_id, question_id, answer tells the rows apart", same("answer"), "choice_id: "),
        Defect("two options for one variant", "user_id, question_id, state tells the rows apart", same("state"), "choice_id: "),
        Defect(
            "two options at one place", "user_id, question_id, position tells the rows apart", same("position"), "position: 1"
        ),
        Defect("an option for no variant", "state has a choice of each variable holds", at(state=("x", "y")), "q01-c1"),
        Defect("an unknown kind of option", "type is one of experience, random", at(type="dreamt"), "dreamt"),
    ),
    "table gate_records": (
        Defect("an unknown gate", "gate is one of schema, summary, event, exposure, recovery", at(gate="vibes"), "vibes"),
        Defect("a vote counted twice", "user_id, number tells the rows apart", twice, "number: 0"),
        Defect(
            "a user said to be replaced",
            "released tells whether the user is in users holds",
            at(released=False),
            "0",
        ),
    ),
    "table failures": (
        Defect("a released user who failed", "user is not in users holds", failed_and_released, "user_id: "),
        Defect("an unknown reason", "reason is one of", unreasonable, "tired"),
    ),
}
