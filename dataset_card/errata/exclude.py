"""A user without one of their questions: variables that served no other question go with it, and so does what told them."""

from collections.abc import Collection, Mapping
from typing import TypeVar

from assets.amemgym.records.episode import Episode, EpisodePeriod
from assets.amemgym.records.schema import StateSchema
from assets.amemgym.records.session import Session

V = TypeVar("V")


def without_question(episode: Episode, question_id: str) -> Episode | None:
    """The rest of the user; None when it was the last question, because a user without questions measures nothing."""
    questions = tuple(one for one in episode.questions if one.question_id != question_id)
    if not questions:
        return None
    kept = {name for question in questions for name in question.required_info}
    schema = StateSchema(
        user_id=episode.user_id,
        variables=tuple(one for one in episode.state_schema.variables if one.name in kept),
        questions=tuple(one for one in episode.state_schema.questions if one.question_id != question_id),
    )
    periods = tuple(_period(period, kept) for period in episode.periods)
    fields = {**dict(episode), "state_schema": schema, "periods": periods, "questions": questions}
    return Episode.model_validate(fields)


def _period(period: EpisodePeriod, kept: Collection[str]) -> EpisodePeriod:
    sessions = (_session(session, kept) for session in period.sessions)
    return period.model_copy(
        update={
            "sessions": tuple(session for session in sessions if session.exposed_states),
            "state": _only(period.state, kept),
            "updates": tuple(update for update in period.updates if update.variable in kept),
            "update_counts": _only(period.update_counts, kept),
        }
    )


def _session(session: Session, kept: Collection[str]) -> Session:
    return session.model_copy(update={"exposed_states": _only(session.exposed_states, kept)})


def _only(values: Mapping[str, V], kept: Collection[str]) -> dict[str, V]:
    return {name: value for name, value in values.items() if name in kept}
