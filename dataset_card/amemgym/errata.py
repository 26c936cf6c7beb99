"""Errata applied while a release is written: a pure function of the rows and of the variant's `errata.yaml`.

Excluding a question also takes out the variables that serve no other question, and what mentioned only them.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from assets.amemgym.records.episode import Episode, EpisodePeriod
from assets.amemgym.records.state import Session, StateSchema
from assets.records.erratum import Erratum, SettledErratum

V = TypeVar("V")


class Corrector:
    """Applies errata to episodes that pass by, and notes what became of each."""

    def __init__(self, errata: Iterable[Erratum]) -> None:
        self._errata = tuple(errata)
        self._applied: set[int] = set()

    def correct_episodes(self, episodes: Iterable[Episode]) -> Iterator[Episode]:
        """Yield the episodes as the errata leave them, in the same order."""
        by_user: dict[str, list[int]] = {}
        for number, erratum in enumerate(self._errata):
            by_user.setdefault(erratum.user_id, []).append(number)
        for episode in episodes:
            corrected = self._apply(episode, by_user.get(episode.user_id, []))
            if corrected is not None:
                yield corrected

    def outcomes(self) -> tuple[SettledErratum, ...]:
        """Return what became of the errata, once all episodes have passed."""
        settled: list[SettledErratum] = []
        for number, erratum in enumerate(self._errata):
            if number not in self._applied:
                outcome = "outdated"
            elif erratum.action == "note":
                outcome = "noted"
            else:
                outcome = "applied"
            settled.append(SettledErratum(erratum=erratum, outcome=outcome))
        return tuple(settled)

    def _apply(self, episode: Episode, numbers: Sequence[int]) -> Episode | None:
        left: Episode | None = episode
        for number in numbers:
            erratum = self._errata[number]
            if left is None or not has_item(left, erratum):
                continue
            self._applied.add(number)
            if erratum.action == "exclude":
                left = without_question(left, erratum.question_id) if erratum.question_id else None
        return left


def has_item(episode: Episode, erratum: Erratum) -> bool:
    """Return True when the episode still has the item, with the words it was judged by."""
    text = text_of(episode, erratum)
    # Another text under the same id is another item, which nobody judged.
    return text is not None and (not erratum.was or text == erratum.was)


def text_of(episode: Episode, erratum: Erratum) -> str | None:
    """Return the text of the erratum's item, "" for a whole user; None where there is no such item."""
    if erratum.session is not None and erratum.period is not None:
        period = _at(episode.periods, erratum.period)
        session = _at(period.sessions, erratum.session) if period else None
        return session.query if session else None
    if erratum.question_id is None:
        return ""
    for question in episode.questions:
        if question.question_id != erratum.question_id:
            continue
        if erratum.choice_id is None:
            return question.query
        for choice in question.answer_choices:
            if choice.choice_id == erratum.choice_id:
                return choice.answer
    return None


def _at(items: Sequence[Any], index: int) -> Any:
    return items[index] if 0 <= index < len(items) else None


def without_question(episode: Episode, question_id: str) -> Episode | None:
    """Return the rest of the user; None when it was the last question, because a user without questions measures nothing."""
    questions = tuple(question for question in episode.questions if question.question_id != question_id)
    if not questions:
        return None
    names: set[str] = set()
    for question in questions:
        names.update(question.required_info)
    schema = StateSchema(
        user_id=episode.user_id,
        variables=tuple(variable for variable in episode.state_schema.variables if variable.name in names),
        questions=tuple(question for question in episode.state_schema.questions if question.question_id != question_id),
    )
    periods = [_period_without(period, names) for period in episode.periods]
    fields = {**dict(episode), "state_schema": schema, "periods": periods, "questions": questions}
    return Episode.model_validate(fields)


def _period_without(period: EpisodePeriod, names: Collection[str]) -> EpisodePeriod:
    sessions: list[Session] = []
    for session in period.sessions:
        exposed = _only(session.exposed_states, names)
        mentions = _only(session.mentions, names)
        # A session whose values are all gone has no purpose any more; one that never had any keeps its own.
        if exposed or mentions or session.kind == "unrelated":
            sessions.append(session.model_copy(update={"exposed_states": exposed, "mentions": mentions}))
    fields = {
        "sessions": tuple(sessions),
        "state": _only(period.state, names),
        "updates": tuple(update for update in period.updates if update.variable in names),
        "update_counts": _only(period.update_counts, names),
    }
    return period.model_copy(update=fields)


def _only(values: Mapping[str, V], names: Collection[str]) -> dict[str, V]:
    return {name: value for name, value in values.items() if name in names}
