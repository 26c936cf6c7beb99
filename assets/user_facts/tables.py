"""The flat tables of user facts."""

from collections.abc import Mapping, Sequence
from datetime import date, datetime

from pydantic import Field

from assets.engine.benchmark import Table
from assets.records.base import Record, same_as
from assets.records.common_tables import FailureRow, GateVoteRow
from assets.user_facts.records import (
    FactChoice,
    FactMatter,
    FactQuestion,
    FactRecord,
    FactSession,
    FactStatement,
    FactUser,
    Outcome,
    QuestionForm,
    QuestionKind,
    ReaderOutcome,
    Shape,
)


class FactUserRow(Record):
    """One user."""

    user_id: str = same_as(FactRecord, "user_id")
    name: str = same_as(FactUser, "name")
    sessions: int = Field(description="how many sessions there are")
    questions: int = Field(description="how many questions there are")
    digest: str = same_as(FactUser, "digest")


class MatterRow(Record):
    """What facts are about, and what it follows from."""

    user_id: str = same_as(FactRecord, "user_id")
    matter: str = Field(description="the matter's name")
    label: str = same_as(FactMatter, "label")
    value: str = same_as(FactMatter, "value")
    follows: str = same_as(FactMatter, "follows")
    like: str = same_as(FactMatter, "like")


class FactSessionRow(Record):
    """One session."""

    user_id: str = same_as(FactRecord, "user_id")
    number: int = same_as(FactSession, "number")
    at: datetime = same_as(FactSession, "at")
    message: str = same_as(FactSession, "message")
    request: str = same_as(FactSession, "request")
    mail: str = same_as(FactSession, "mail")


class StatementRow(Record):
    """One statement of a session."""

    user_id: str = same_as(FactRecord, "user_id")
    session: int = same_as(FactSession, "number")
    position: int = Field(description="its place among the session's statements, from 0")
    matter: str = same_as(FactStatement, "matter")
    shape: Shape = same_as(FactStatement, "shape")
    value: str = same_as(FactStatement, "value")
    until: date | None = same_as(FactStatement, "until")
    other: str = same_as(FactStatement, "other")


class FactQuestionRow(Record):
    """One question."""

    user_id: str = same_as(FactRecord, "user_id")
    question_id: str = same_as(FactQuestion, "question_id")
    kind: QuestionKind = same_as(FactQuestion, "kind")
    form: QuestionForm = same_as(FactQuestion, "form")
    matter: str = same_as(FactQuestion, "matter")
    question: str = same_as(FactQuestion, "text")
    right: str = Field(description="id of the right choice")
    needed: tuple[int, ...] = same_as(FactQuestion, "needed")
    age: int = same_as(FactQuestion, "age")
    last_change: Shape | None = same_as(FactQuestion, "last_change")
    changes: int = same_as(FactQuestion, "changes")


class FactChoiceRow(Record):
    """One of the answers to a question."""

    user_id: str = same_as(FactRecord, "user_id")
    question_id: str = same_as(FactQuestion, "question_id")
    choice_id: str = same_as(FactChoice, "choice_id")
    text: str = same_as(FactChoice, "text")
    outcome: Outcome = same_as(FactChoice, "outcome")


class ReaderRow(Record):
    """What a reader answers of one user's questions of a kind."""

    user_id: str = same_as(FactRecord, "user_id")
    reader: str = same_as(ReaderOutcome, "reader")
    group: str = same_as(ReaderOutcome, "group")
    questions: int = same_as(ReaderOutcome, "questions")
    right: int = same_as(ReaderOutcome, "right")


TABLES: Mapping[str, Table] = {
    "users": Table(FactUserRow, ("user_id",), unread=frozenset({"digest"}), title="name"),
    "matters": Table(MatterRow, ("user_id", "matter"), group=("user_id",), title="label"),
    "sessions": Table(FactSessionRow, ("user_id", "number"), title="message"),
    "statements": Table(StatementRow, ("user_id", "session", "position"), group=("user_id", "session")),
    "questions": Table(FactQuestionRow, ("user_id", "question_id"), title="question"),
    "choices": Table(FactChoiceRow, ("user_id", "question_id", "choice_id"), group=("user_id", "question_id")),
    "readers": Table(ReaderRow, ("user_id", "reader", "group"), scored=False),
    "gate_records": Table(GateVoteRow, ("user_id", "number"), scored=False),
    "failures": Table(FailureRow, ("user_id",), scored=False),
}


def fact_user_rows(user: FactUser) -> dict[str, Sequence[Record]]:
    """Return one user's rows in every table that follows from users."""
    key = user.user_id
    sessions: list[Record] = []
    statements: list[Record] = []
    for session in user.sessions:
        sessions.append(FactSessionRow.from_record(session, user_id=key))
        for position, one in enumerate(session.statements):
            statements.append(StatementRow.from_record(one, user_id=key, session=session.number, position=position))
    questions: list[Record] = []
    choices: list[Record] = []
    for one in user.questions:
        questions.append(FactQuestionRow.from_record(one, user_id=key, question=one.text, right=one.right.choice_id))
        for choice in one.choices:
            choices.append(FactChoiceRow.from_record(choice, user_id=key, question_id=one.question_id))
    return {
        "users": [FactUserRow.from_record(user, sessions=len(sessions), questions=len(questions))],
        "matters": [MatterRow.from_record(one, user_id=key, matter=one.name) for one in user.matters],
        "sessions": sessions,
        "statements": statements,
        "questions": questions,
        "choices": choices,
        "readers": [ReaderRow.from_record(one, user_id=key) for one in user.outcomes],
    }
