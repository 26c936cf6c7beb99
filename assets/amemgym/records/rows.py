"""The rows of the release's flat tables: a table's columns and types are the fields of its row.

Keys: user_id everywhere; then period, session, variable, or question_id and choice_id. Dates and times are ISO text.
"""

from typing import Literal

from assets.amemgym.records.question import ChoiceType
from assets.amemgym.records.state import ChatMessage
from assets.records.base import Record
from assets.records.common_tables import FailureRow, GateVoteRow


class UserRow(Record):
    """One user: the profile, and the day of the initial state."""

    user_id: str
    start_date: str
    name: str
    age: int
    gender: str
    marital_status: str
    education_level: str
    occupation: str
    hobbies_and_interests: str
    skills_and_expertise: str
    complementary_info: str
    formatted_str: str


class StateVariableRow(Record):
    """One variable of a user's schema; `position` counts from 0 in schema order."""

    user_id: str
    variable: str
    position: int
    choices: tuple[str, ...]
    merged_from: tuple[str, ...]


class PeriodRow(Record):
    """One period; 0 is the initial one, without start and summary."""

    user_id: str
    period: int
    period_start: str | None
    period_end: str
    period_summary: str | None


class StateRow(Record):
    """One variable at the end of one period; `old_value` is set where the period changed it."""

    user_id: str
    period: int
    variable: str
    value: str
    old_value: str | None
    update_count: int


class SessionRow(Record):
    """One session; `session` counts from 0 within its period."""

    user_id: str
    period: int
    session: int
    session_time: str
    event: str | None
    exposed_states: dict[str, str]
    query: str
    messages: tuple[ChatMessage, ...]


class QuestionRow(Record):
    """One question; `golden[t]` is the choice_id that is right at the end of period t.

    `options_left[t]`: among how many options a reader of period t's own sessions, who remembers none before, has to guess.
    """

    user_id: str
    question_id: str
    query: str
    required_info: tuple[str, ...]
    golden: tuple[str, ...]
    options_left: tuple[int, ...]


class AnswerChoiceRow(Record):
    """One option; `state` holds values in the order of the question's required_info, `position` counts from 0."""

    user_id: str
    question_id: str
    choice_id: str
    position: int
    state: tuple[str, ...]
    answer: str
    type: ChoiceType


class GateRecordRow(GateVoteRow):
    """One vote on one draft of a query or an answer."""

    # Rows are frozen, so a narrower type is safe; the expectation on the column follows from it.
    gate: Literal["schema", "summary", "event", "exposure", "recovery", "choice", "state_from_answer", "answer_from_state"]  # pyright: ignore[reportIncompatibleVariableOverride]


TABLES: dict[str, type[Record]] = {
    "users": UserRow,
    "state_variables": StateVariableRow,
    "periods": PeriodRow,
    "states": StateRow,
    "sessions": SessionRow,
    "questions": QuestionRow,
    "answer_choices": AnswerChoiceRow,
    "gate_records": GateRecordRow,
    "failures": FailureRow,
}
# The columns that tell one row of a table from all others.
KEYS: dict[str, tuple[str, ...]] = {
    "users": ("user_id",),
    "state_variables": ("user_id", "variable"),
    "periods": ("user_id", "period"),
    "states": ("user_id", "period", "variable"),
    "sessions": ("user_id", "period", "session"),
    "questions": ("user_id", "question_id"),
    "answer_choices": ("user_id", "question_id", "choice_id"),
    "gate_records": ("user_id", "number"),
    "failures": ("user_id",),
}
# Columns of free text.
WORDS: dict[str, frozenset[str]] = {
    "users": frozenset({"name", "hobbies_and_interests", "skills_and_expertise", "complementary_info", "formatted_str"}),
    "periods": frozenset({"period_summary"}),
    "sessions": frozenset({"event", "query", "messages"}),
    "questions": frozenset({"query"}),
    "answer_choices": frozenset({"answer"}),
}
# Columns that no assistant reads or is scored on: notes on how rows came about, and figures that follow from others.
UNREAD: dict[str, frozenset[str]] = {
    "state_variables": frozenset({"merged_from"}),
    "periods": frozenset({"period_summary"}),
    "sessions": frozenset({"event"}),
    "questions": frozenset({"options_left"}),
}
