"""The release's flat tables. Keys: user_id, then period, session, variable, or question_id and choice_id.

Dates and times are ISO text.
"""

from collections.abc import Iterable
from datetime import date, datetime
from typing import Any, Literal

from assets.amemgym.records.episode import Episode, EpisodePeriod, options_left
from assets.amemgym.records.state import Session
from assets.records.base import GateRecord, Record, same_as
from assets.records.common_tables import FailureRow, GateVoteRow
from assets.records.flat_tables import ItemPath, Table, TableColumn, flat_row, number
from assets.records.public_names import shared_model

PERIOD = number("period", "the period; 0 is the initial one", of=1)
PROFILE = (
    "name age gender marital_status education_level occupation hobbies_and_interests skills_and_expertise complementary_info "
    "formatted_str people=cast.people animals=cast.animals home=cast.home rooms=cast.rooms work=cast.work "
    "getting_about=cast.getting_about voice=cast.voice"
)


class GateRecordRow(GateVoteRow):
    """One vote on one draft of a query or an answer."""

    # Rows are frozen, so a narrower type is safe; the expectation on the column follows from it.
    gate: Literal["schema", "summary", "event", "exposure", "recovery", "choice", "state_from_answer", "answer_from_state"] = (  # pyright: ignore[reportIncompatibleVariableOverride]
        same_as(GateVoteRow, "gate")
    )


def _iso(record: type[Record], name: str, kind: Any = str) -> TableColumn:
    """Return the column of a day or a time as text."""

    def text(place: ItemPath) -> str | None:
        found = next(getattr(outer, name) for outer in reversed(place.records) if isinstance(outer, record))
        if isinstance(found, datetime):
            return found.isoformat(sep=" ")
        return found.isoformat() if isinstance(found, date) else None

    return TableColumn(name, kind, record.model_fields[name].description or "", text)


def _old_value(place: ItemPath) -> str | None:
    """Return the value of a variable before the period, where the period changed it."""
    for update in place.records[1].updates:
        if update.variable == place.record.key:
            return update.old
    return None


def _changed_on(place: ItemPath) -> str | None:
    """Return the day on which the period changed a variable, where it did."""
    day = place.records[1].days.get(place.record.key)
    return None if day is None else day.isoformat()


TABLES = {
    "users": Table(
        flat_row(
            Episode,
            "user_profile",
            "One user: the profile, and the day of the initial state.",
            "user_id",
            _iso(Episode, "start_date"),
            PROFILE,
        ),
        ("user_id",),
    ),
    "state_variables": Table(
        flat_row(
            Episode,
            "state_schema.variables",
            "One variable of a user's schema; `position` counts from 0 in schema order.",
            "user_id variable=name",
            number("position", "its place in the schema, from 0"),
            "choices merged_from",
        ),
        ("user_id", "variable"),
        # Unread here and below: notes on how rows came about, and figures that follow from others.
        unread=frozenset({"merged_from"}),
    ),
    "periods": Table(
        flat_row(
            Episode,
            "periods",
            "One period; 0 is the initial one, without start and summary.",
            "user_id",
            PERIOD,
            _iso(EpisodePeriod, "period_start", str | None),
            _iso(EpisodePeriod, "period_end"),
            "period_summary",
        ),
        ("user_id", "period"),
        unread=frozenset({"period_summary"}),
    ),
    "states": Table(
        flat_row(
            Episode,
            "periods.state",
            "One variable at the end of one period; `old_value` is set where the period changed it.",
            "user_id",
            PERIOD,
            TableColumn("variable", str, "the state variable", lambda place: place.record.key),
            TableColumn("value", str, "its value at the end of the period", lambda place: place.record.value),
            TableColumn("old_value", str | None, "its value before, where the period changed it", _old_value),
            TableColumn("changed_on", str | None, "the day on which the period changed it, where that is known", _changed_on),
            TableColumn(
                "update_count",
                int,
                "how often it has changed so far",
                lambda place: place.records[1].update_counts.get(place.record.key, 0),
            ),
        ),
        ("user_id", "period", "variable"),
        unread=frozenset({"changed_on"}),
    ),
    "sessions": Table(
        flat_row(
            Episode,
            "periods.sessions",
            "One session; `session` counts from 0 within its period.",
            "user_id",
            PERIOD,
            number("session", "its place in the period, from 0"),
            _iso(Session, "session_time"),
            "kind event exposed_states mentions mentioned_as query messages",
        ),
        ("user_id", "period", "session"),
        unread=frozenset({"event", "kind", "mentions", "mentioned_as"}),
    ),
    "questions": Table(
        flat_row(
            Episode,
            "questions",
            "One question; `golden[t]` is the choice_id that is right at the end of period t.",
            "user_id question_id query required_info golden",
            TableColumn(
                "options_left",
                tuple[int, ...],
                "by period, among how many options a reader of its sessions alone has to guess",
                lambda place: tuple(options_left(place.records[0], place.record)),
            ),
        ),
        ("user_id", "question_id"),
        unread=frozenset({"options_left"}),
    ),
    "answer_choices": Table(
        flat_row(
            Episode,
            "questions.answer_choices",
            "One option; `state` holds values in the order of the question's required_info, `position` counts from 0.",
            "user_id",
            TableColumn("question_id", str, "the question", lambda place: place.records[1].question_id),
            "choice_id",
            number("position", "its place among the options shown, from 0"),
            "state answer type",
        ),
        ("user_id", "question_id", "choice_id"),
        # An option more makes another task of a question, although no row that was there changed.
        group=("user_id", "question_id"),
    ),
    "gate_records": Table(GateRecordRow, ("user_id", "number"), scored=False),
    "failures": Table(FailureRow, ("user_id",), scored=False),
}


def gate_record_rows(user_id: str, votes: Iterable[GateRecord], *, released: bool) -> list[GateRecordRow]:
    """Return all votes on one user's texts as rows."""
    rows: list[GateRecordRow] = []
    for place, vote in enumerate(votes):
        # A judge that is a local file is named without its path, which nobody else has.
        fields = {**dict(vote), "judge": shared_model(vote.judge)}
        rows.append(GateRecordRow.model_validate({**fields, "user_id": user_id, "number": place, "released": released}))
    return rows
