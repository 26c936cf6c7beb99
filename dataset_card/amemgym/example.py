"""One user's story for the card: what he said first, what changed, and how that changes the right answer to a question."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise

from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.amemgym.records.state import Session


@dataclass(frozen=True)
class Example:
    """A question whose right answer changes in `period`, and the sessions that tell why.

    `event` is what happened in the user's life.
    """

    name: str
    age: int
    occupation: str
    first_words: str
    event: str
    later_words: str
    question: str
    before: str
    after: str
    period: int


def example_of(episode: Episode) -> Example | None:
    """Return the first change of a right answer; None for a user whose right answers all stay."""
    for question in episode.questions:
        for period, (before, after) in enumerate(pairwise(question.golden), start=1):
            if before != after:
                return _example(episode, question, period)
    return None


def _example(episode: Episode, question: EpisodeQuestion, period: int) -> Example:
    answers = {choice.choice_id: choice.answer for choice in question.answer_choices}
    periods = episode.periods
    names = dict.fromkeys(question.required_info)
    changed = {update.variable for update in periods[period].updates} & names.keys()
    first = _session_exposing(changed, periods[0])
    later = _session_exposing(changed, periods[period])
    profile = episode.user_profile
    return Example(
        name=profile.name,
        age=profile.age,
        occupation=profile.occupation,
        first_words=first.query,
        event=later.event or "",
        later_words=later.query,
        question=question.query,
        before=answers[question.golden[period - 1]],
        after=answers[question.golden[period]],
        period=period,
    )


def _session_exposing(names: Collection[str], period: EpisodePeriod) -> Session:
    """Return the first session of a period that lets one of these variables be known; there always is one."""
    return next(session for session in period.sessions if not session.exposed_states.keys().isdisjoint(names))
