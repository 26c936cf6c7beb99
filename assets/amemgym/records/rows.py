"""The rows of the release's flat tables: a table's columns and types are the fields of its row.

Keys: user_id everywhere; then period, session, variable, or question_id and choice_id. Dates and times are ISO text.
"""

from typing import Literal

from pydantic import Field

from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import AnswerChoice, ChoiceType
from assets.amemgym.records.state import ChatMessage, Session, StateVariable
from assets.amemgym.records.user import UserRecord
from assets.records.base import Record, same_as
from assets.records.common_tables import GateVoteRow


class UserRow(Record):
    """One user: the profile, and the day of the initial state."""

    user_id: str = same_as(UserRecord, "user_id")
    start_date: str = same_as(Episode, "start_date")
    name: str = same_as(UserProfile, "name")
    age: int = same_as(UserProfile, "age")
    gender: str = same_as(UserProfile, "gender")
    marital_status: str = same_as(UserProfile, "marital_status")
    education_level: str = same_as(UserProfile, "education_level")
    occupation: str = same_as(UserProfile, "occupation")
    hobbies_and_interests: str = same_as(UserProfile, "hobbies_and_interests")
    skills_and_expertise: str = same_as(UserProfile, "skills_and_expertise")
    complementary_info: str = same_as(UserProfile, "complementary_info")
    formatted_str: str = same_as(UserProfile, "formatted_str")


class StateVariableRow(Record):
    """One variable of a user's schema; `position` counts from 0 in schema order."""

    user_id: str = same_as(UserRecord, "user_id")
    variable: str = same_as(StateVariable, "name")
    position: int = Field(description="its place in the schema, from 0")
    choices: tuple[str, ...] = same_as(StateVariable, "choices")
    merged_from: tuple[str, ...] = same_as(StateVariable, "merged_from")


class PeriodRow(Record):
    """One period; 0 is the initial one, without start and summary."""

    user_id: str = same_as(UserRecord, "user_id")
    period: int = Field(description="the period; 0 is the initial one")
    period_start: str | None = same_as(EpisodePeriod, "period_start")
    period_end: str = same_as(EpisodePeriod, "period_end")
    period_summary: str | None = same_as(EpisodePeriod, "period_summary")


class StateRow(Record):
    """One variable at the end of one period; `old_value` is set where the period changed it."""

    user_id: str = same_as(UserRecord, "user_id")
    period: int = Field(description="the period; 0 is the initial one")
    variable: str = Field(description="the state variable")
    value: str = Field(description="its value at the end of the period")
    old_value: str | None = Field(description="its value before, where the period changed it")
    update_count: int = Field(description="how often it has changed so far")


class SessionRow(Record):
    """One session; `session` counts from 0 within its period."""

    user_id: str = same_as(UserRecord, "user_id")
    period: int = Field(description="the period; 0 is the initial one")
    session: int = Field(description="its place in the period, from 0")
    session_time: str = same_as(Session, "session_time")
    event: str | None = same_as(Session, "event")
    exposed_states: dict[str, str] = same_as(Session, "exposed_states")
    query: str = same_as(Session, "query")
    messages: tuple[ChatMessage, ...] = same_as(Session, "messages")


class QuestionRow(Record):
    """One question; `golden[t]` is the choice_id that is right at the end of period t.

    `options_left[t]`: among how many options a reader of period t's own sessions, who remembers none before, has to guess.
    """

    user_id: str = same_as(UserRecord, "user_id")
    question_id: str = same_as(EpisodeQuestion, "question_id")
    query: str = same_as(EpisodeQuestion, "query")
    required_info: tuple[str, ...] = same_as(EpisodeQuestion, "required_info")
    golden: tuple[str, ...] = same_as(EpisodeQuestion, "golden")
    options_left: tuple[int, ...] = Field(
        description="by period, among how many options a reader of its sessions alone has to guess"
    )


class AnswerChoiceRow(Record):
    """One option; `state` holds values in the order of the question's required_info, `position` counts from 0."""

    user_id: str = same_as(UserRecord, "user_id")
    question_id: str = Field(description="the question")
    choice_id: str = same_as(AnswerChoice, "choice_id")
    position: int = Field(description="its place among the options shown, from 0")
    state: tuple[str, ...] = same_as(AnswerChoice, "state")
    answer: str = same_as(AnswerChoice, "answer")
    type: ChoiceType = same_as(AnswerChoice, "type")


class GateRecordRow(GateVoteRow):
    """One vote on one draft of a query or an answer."""

    # Rows are frozen, so a narrower type is safe; the expectation on the column follows from it.
    gate: Literal["schema", "summary", "event", "exposure", "recovery", "choice", "state_from_answer", "answer_from_state"] = (  # pyright: ignore[reportIncompatibleVariableOverride]
        same_as(GateVoteRow, "gate")
    )
