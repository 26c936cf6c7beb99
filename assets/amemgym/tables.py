"""From records to the rows of the release's flat tables, one episode at a time."""

from collections.abc import Iterable, Sequence

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
from assets.recipe.public_names import shared_model
from assets.records.base import GateRecord, Record


def table_rows(episode: Episode) -> dict[str, Sequence[Record]]:
    """One episode's rows in every table that follows from episodes."""
    return {
        "users": [user_row(episode)],
        "state_variables": state_variable_rows(episode),
        "periods": period_rows(episode),
        "states": state_rows(episode),
        "sessions": session_rows(episode),
        "questions": question_rows(episode),
        "answer_choices": answer_choice_rows(episode),
    }


def user_row(episode: Episode) -> UserRow:
    return UserRow(start_date=episode.start_date.isoformat(), **episode.user_profile.model_dump())


def state_variable_rows(episode: Episode) -> list[StateVariableRow]:
    """The schema, a row per variable."""
    return [
        StateVariableRow(
            user_id=episode.user_id,
            variable=variable.name,
            position=position,
            choices=variable.choices,
            merged_from=variable.merged_from,
        )
        for position, variable in enumerate(episode.state_schema.variables)
    ]


def period_rows(episode: Episode) -> list[PeriodRow]:
    """The periods alone; states and sessions have tables of their own."""
    return [
        PeriodRow(
            user_id=episode.user_id,
            period=index,
            period_start=period.period_start.isoformat() if period.period_start else None,
            period_end=period.period_end.isoformat(),
            period_summary=period.period_summary,
        )
        for index, period in enumerate(episode.periods)
    ]


def state_rows(episode: Episode) -> list[StateRow]:
    """Every variable at the end of every period."""
    rows: list[StateRow] = []
    for index, period in enumerate(episode.periods):
        olds = {update.variable: update.old for update in period.updates}
        rows.extend(
            StateRow(
                user_id=episode.user_id,
                period=index,
                variable=name,
                value=value,
                old_value=olds.get(name),
                update_count=period.update_counts.get(name, 0),
            )
            for name, value in period.state.items()
        )
    return rows


def session_rows(episode: Episode) -> list[SessionRow]:
    return [
        SessionRow(
            user_id=episode.user_id,
            period=index,
            session=number,
            session_time=session.session_time.isoformat(sep=" "),
            event=session.event,
            exposed_states=session.exposed_states,
            query=session.query,
            messages=session.messages,
        )
        for index, period in enumerate(episode.periods)
        for number, session in enumerate(period.sessions)
    ]


def question_rows(episode: Episode) -> list[QuestionRow]:
    """The questions alone; their options are rows of `answer_choices`."""
    return [
        QuestionRow(
            user_id=episode.user_id,
            question_id=question.question_id,
            query=question.query,
            required_info=question.required_info,
            golden=question.golden,
            options_left=tuple(options_left(episode, question)),
        )
        for question in episode.questions
    ]


def answer_choice_rows(episode: Episode) -> list[AnswerChoiceRow]:
    """The options of all questions, in the order shown."""
    return [
        AnswerChoiceRow(user_id=episode.user_id, question_id=question.question_id, position=position, **choice.model_dump())
        for question in episode.questions
        for position, choice in enumerate(question.answer_choices)
    ]


def gate_record_rows(user_id: str, votes: Iterable[GateRecord], *, released: bool) -> list[GateRecordRow]:
    """All votes on one user's texts as rows."""
    return [
        GateRecordRow.model_validate(
            {**dict(vote), "user_id": user_id, "number": number, "released": released, "judge": shared_model(vote.judge)}
        )
        for number, vote in enumerate(votes)
    ]
