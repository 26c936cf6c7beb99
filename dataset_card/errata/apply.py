"""Errata applied while a release is written: a pure function of the rows and of the variant's `errata.yaml`.

Excluding a question also takes out the variables that serve no other question, and what mentioned only them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.amemgym.records.state import Session, StateSchema
from assets.records.erratum import Erratum, SettledErratum

V = TypeVar("V")


class Corrector:
    """Applies errata to episodes that pass by, and notes what became of each."""

    def __init__(self, errata: Iterable[Erratum]) -> None:
        self._errata = tuple(errata)
        self._applied: set[int] = set()

    def corrected(self, episodes: Iterable[Episode]) -> Iterator[Episode]:
        """The episodes as the errata leave them, in the same order."""
        by_user: dict[str, list[int]] = {}
        for number, erratum in enumerate(self._errata):
            by_user.setdefault(erratum.user_id, []).append(number)
        for episode in episodes:
            corrected = self._apply(episode, by_user.get(episode.user_id, []))
            if corrected is not None:
                yield corrected

    def settled(self) -> tuple[SettledErratum, ...]:
        """What became of them, once all episodes have passed."""
        return tuple(
            SettledErratum(
                erratum=erratum,
                outcome="outdated" if number not in self._applied else "noted" if erratum.action == "note" else "applied",
            )
            for number, erratum in enumerate(self._errata)
        )

    def _apply(self, episode: Episode, numbers: Sequence[int]) -> Episode | None:
        left: Episode | None = episode
        for number in numbers:
            erratum = self._errata[number]
            if left is None or not has_item(left, erratum):
                continue
            self._applied.add(number)
            left = _correct(left, erratum)
        return left


def has_item(episode: Episode, erratum: Erratum) -> bool:
    """Whether the episode still has the item, with the words it was judged by."""
    text = text_of(episode, erratum)
    return text is not None and (not erratum.was or text == erratum.was)


def text_of(episode: Episode, erratum: Erratum) -> str | None:
    """The text of the erratum's item, "" for a whole user; None where there is no such item."""
    if erratum.session is not None and erratum.period is not None:
        sessions = _at(episode.periods, erratum.period)
        session = _at(sessions.sessions, erratum.session) if sessions else None
        return session.query if session else None
    if erratum.question_id is None:
        return ""
    question = next((one for one in episode.questions if one.question_id == erratum.question_id), None)
    if question is None or erratum.choice_id is None:
        return question.query if question else None
    return next((one.answer for one in question.answer_choices if one.choice_id == erratum.choice_id), None)


def _at(items: Sequence[Any], index: int) -> Any:
    return items[index] if 0 <= index < len(items) else None


def _correct(episode: Episode, erratum: Erratum) -> Episode | None:
    if erratum.action == "exclude":
        return without_question(episode, erratum.question_id) if erratum.question_id else None
    return _reworded(episode, erratum) if erratum.action == "correct" else episode


def _reworded(episode: Episode, erratum: Erratum) -> Episode:
    fields = dict(episode)
    if erratum.question_id:
        fields["questions"] = tuple(
            _question(one, erratum) if one.question_id == erratum.question_id else one for one in episode.questions
        )
        fields["state_schema"] = episode.state_schema if erratum.choice_id else _schema(episode.state_schema, erratum)
    else:
        fields["periods"] = tuple(
            period.model_copy(update={"sessions": tuple(_session(one, erratum) for one in period.sessions)})
            if index == erratum.period
            else period
            for index, period in enumerate(episode.periods)
        )
    return Episode.model_validate(fields)


def _schema(schema: StateSchema, erratum: Erratum) -> StateSchema:
    questions = tuple(
        one.model_copy(update={"text": erratum.now}) if one.question_id == erratum.question_id else one
        for one in schema.questions
    )
    return schema.model_copy(update={"questions": questions})


def _session(session: Session, erratum: Erratum) -> Session:
    # Times differ within a period, and the text is known to be that of the session meant.
    return session.model_copy(update={"query": erratum.now}) if session.query == erratum.was else session


def _question(question: EpisodeQuestion, erratum: Erratum) -> EpisodeQuestion:
    if erratum.choice_id is None:
        return question.model_copy(update={"query": erratum.now})
    choices = tuple(
        one.model_copy(update={"answer": erratum.now}) if one.choice_id == erratum.choice_id else one
        for one in question.answer_choices
    )
    return question.model_copy(update={"answer_choices": choices})


def without_question(episode: Episode, question_id: str) -> Episode | None:
    """The rest of the user; None when it was the last question, because a user without questions measures nothing."""
    questions = tuple(one for one in episode.questions if one.question_id != question_id)
    if not questions:
        return None
    names = {name for question in questions for name in question.required_info}
    schema = StateSchema(
        user_id=episode.user_id,
        variables=tuple(one for one in episode.state_schema.variables if one.name in names),
        questions=tuple(one for one in episode.state_schema.questions if one.question_id != question_id),
    )
    periods = tuple(_period_without(period, names) for period in episode.periods)
    fields = {**dict(episode), "state_schema": schema, "periods": periods, "questions": questions}
    return Episode.model_validate(fields)


def _period_without(period: EpisodePeriod, names: Collection[str]) -> EpisodePeriod:
    sessions = (_session_without(session, names) for session in period.sessions)
    return period.model_copy(
        update={
            "sessions": tuple(session for session in sessions if session.exposed_states),
            "state": _only(period.state, names),
            "updates": tuple(update for update in period.updates if update.variable in names),
            "update_counts": _only(period.update_counts, names),
        }
    )


def _session_without(session: Session, names: Collection[str]) -> Session:
    return session.model_copy(update={"exposed_states": _only(session.exposed_states, names)})


def _only(values: Mapping[str, V], names: Collection[str]) -> dict[str, V]:
    return {name: value for name, value in values.items() if name in names}
