"""The release's flat tables, and their rows, made from one episode at a time."""

from collections.abc import Iterable, Iterator, Sequence

from assets.amemgym.records.episode import Episode, options_left
from assets.amemgym.records.rows import (
    AnswerChoiceRow,
    GateRecordRow,
    PeriodRow,
    QuestionRow,
    SessionRow,
    StateRow,
    StateVariableRow,
    UserRow,
)
from assets.engine.benchmark import Table
from assets.records.base import GateRecord, Record
from assets.records.common_tables import FailureRow
from assets.records.public_names import shared_model

TABLES = {
    "users": Table(UserRow, ("user_id",), title="name"),
    # Unread: notes on how rows came about, and figures that follow from others.
    "state_variables": Table(StateVariableRow, ("user_id", "variable"), unread=frozenset({"merged_from"})),
    "periods": Table(PeriodRow, ("user_id", "period"), unread=frozenset({"period_summary"})),
    "states": Table(StateRow, ("user_id", "period", "variable")),
    "sessions": Table(SessionRow, ("user_id", "period", "session"), unread=frozenset({"event"})),
    "questions": Table(QuestionRow, ("user_id", "question_id"), unread=frozenset({"options_left"}), title="query"),
    "answer_choices": Table(
        AnswerChoiceRow,
        ("user_id", "question_id", "choice_id"),
        # An option more makes another task of a question, although no row that was there changed.
        group=("user_id", "question_id"),
    ),
    "gate_records": Table(GateRecordRow, ("user_id", "number"), scored=False),
    "failures": Table(FailureRow, ("user_id",), scored=False),
}


def table_rows(episode: Episode) -> dict[str, Sequence[Record]]:
    """Return one episode's rows in every table that follows from episodes."""
    return {
        "users": [user_row(episode)],
        "state_variables": list(state_variable_rows(episode)),
        "periods": list(period_rows(episode)),
        "states": list(state_rows(episode)),
        "sessions": list(session_rows(episode)),
        "questions": list(question_rows(episode)),
        "answer_choices": list(answer_choice_rows(episode)),
    }


def user_row(episode: Episode) -> UserRow:
    return UserRow(start_date=episode.start_date.isoformat(), **episode.user_profile.model_dump())


def state_variable_rows(episode: Episode) -> Iterator[StateVariableRow]:
    """Yield the schema, a row per variable."""
    for position, variable in enumerate(episode.state_schema.variables):
        yield StateVariableRow(
            user_id=episode.user_id,
            variable=variable.name,
            position=position,
            choices=variable.choices,
            merged_from=variable.merged_from,
        )


def period_rows(episode: Episode) -> Iterator[PeriodRow]:
    """Yield the periods alone; states and sessions have tables of their own."""
    for index, period in enumerate(episode.periods):
        yield PeriodRow(
            user_id=episode.user_id,
            period=index,
            period_start=period.period_start.isoformat() if period.period_start else None,
            period_end=period.period_end.isoformat(),
            period_summary=period.period_summary,
        )


def state_rows(episode: Episode) -> Iterator[StateRow]:
    """Yield every variable at the end of every period."""
    for index, period in enumerate(episode.periods):
        olds = {update.variable: update.old for update in period.updates}
        for name, value in period.state.items():
            yield StateRow(
                user_id=episode.user_id,
                period=index,
                variable=name,
                value=value,
                old_value=olds.get(name),
                update_count=period.update_counts.get(name, 0),
            )


def session_rows(episode: Episode) -> Iterator[SessionRow]:
    for index, period in enumerate(episode.periods):
        for number, session in enumerate(period.sessions):
            yield SessionRow(
                user_id=episode.user_id,
                period=index,
                session=number,
                session_time=session.session_time.isoformat(sep=" "),
                event=session.event,
                exposed_states=session.exposed_states,
                query=session.query,
                messages=session.messages,
            )


def question_rows(episode: Episode) -> Iterator[QuestionRow]:
    """Yield the questions alone; their options are rows of `answer_choices`."""
    for question in episode.questions:
        yield QuestionRow(
            user_id=episode.user_id,
            question_id=question.question_id,
            query=question.query,
            required_info=question.required_info,
            golden=question.golden,
            options_left=tuple(options_left(episode, question)),
        )


def answer_choice_rows(episode: Episode) -> Iterator[AnswerChoiceRow]:
    """Yield the options of all questions, in the order shown."""
    for question in episode.questions:
        for position, choice in enumerate(question.answer_choices):
            yield AnswerChoiceRow(
                user_id=episode.user_id, question_id=question.question_id, position=position, **choice.model_dump()
            )


def gate_record_rows(user_id: str, votes: Iterable[GateRecord], *, released: bool) -> list[GateRecordRow]:
    """Return all votes on one user's texts as rows."""
    rows: list[GateRecordRow] = []
    for number, vote in enumerate(votes):
        # A judge that is a local file is named without its path, which nobody else has.
        fields = {**dict(vote), "judge": shared_model(vote.judge)}
        rows.append(GateRecordRow.model_validate({**fields, "user_id": user_id, "number": number, "released": released}))
    return rows
