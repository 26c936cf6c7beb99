"""The flat tables of user facts."""

from collections.abc import Mapping

from assets.records.common_tables import FailureRow, GateVoteRow
from assets.records.flat_tables import Table, TableColumn, flat_row, number
from assets.user_facts.records import FactUser

TABLES: Mapping[str, Table] = {
    "users": Table(
        flat_row(
            FactUser,
            "",
            "One user.",
            "user_id name",
            TableColumn("sessions", int, "how many sessions there are", lambda place: len(place.record.sessions)),
            TableColumn("questions", int, "how many questions there are", lambda place: len(place.record.questions)),
            "digest",
        ),
        ("user_id",),
        unread=frozenset({"digest"}),
    ),
    "matters": Table(
        flat_row(
            FactUser,
            "matters",
            "What facts are about, and what it follows from.",
            "user_id",
            TableColumn("matter", str, "the matter's name", lambda place: place.record.name),
            "label value follows like",
        ),
        ("user_id", "matter"),
        group=("user_id",),
    ),
    "sessions": Table(
        flat_row(FactUser, "sessions", "One session.", "user_id number at message request mail"),
        ("user_id", "number"),
    ),
    "statements": Table(
        flat_row(
            FactUser,
            "sessions.statements",
            "One statement of a session.",
            "user_id session=number",
            number("position", "its place among the session's statements, from 0"),
            "matter shape value until other",
        ),
        ("user_id", "session", "position"),
        group=("user_id", "session"),
    ),
    "questions": Table(
        flat_row(
            FactUser,
            "questions",
            "One question.",
            "user_id question_id kind form matter question=text",
            TableColumn("right", str, "id of the right choice", lambda place: place.record.right.choice_id),
            "needed age last_change changes",
        ),
        ("user_id", "question_id"),
    ),
    "choices": Table(
        flat_row(
            FactUser,
            "questions.choices",
            "One of the answers to a question.",
            "user_id question_id choice_id text outcome",
        ),
        ("user_id", "question_id", "choice_id"),
        group=("user_id", "question_id"),
    ),
    "readers": Table(
        flat_row(
            FactUser,
            "outcomes",
            "What a reader answers of one user's questions of a kind.",
            "user_id reader group questions right",
        ),
        ("user_id", "reader", "group"),
        scored=False,
    ),
    "gate_records": Table(GateVoteRow, ("user_id", "number"), scored=False),
    "failures": Table(FailureRow, ("user_id",), scored=False),
}
