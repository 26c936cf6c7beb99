"""One user's story for the card: what he said first, what changed, and how that changes the right answer to a question."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from assets.amemgym.records.episode import Episode, EpisodePeriod, EpisodeQuestion
from assets.amemgym.records.state import Session

SHADES = ("#dbe7f3", "#9cc3e4", "#f2c879", "#5b93c7", "#d98c3f")
# More do not fit into the bar of one period.
MOST_LETTERS = 26
# matplotlib's axes, whose annotations are only partly known to type checkers.
Axes = Any


@dataclass(frozen=True)
class Example:
    """A question whose right answer changes in `period`, and the sessions that tell why.

    `states`: the values of the question's variables, by variable and period. `event` is what happened in the user's life.
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
    states: dict[str, tuple[str, ...]]


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
        states={name: _values(name, periods) for name in names},
    )


def _session_exposing(names: Collection[str], period: EpisodePeriod) -> Session:
    """Return the first session of a period that lets one of these variables be known; there always is one."""
    return next(session for session in period.sessions if not session.exposed_states.keys().isdisjoint(names))


def _values(name: str, periods: Sequence[EpisodePeriod]) -> tuple[str, ...]:
    return tuple(period.state[name] for period in periods)


def states_panel(states: dict[str, tuple[str, ...]], axes: Axes) -> None:
    """Draw a row for each variable, a bar for each value it holds, over the periods."""
    for row, values in enumerate(states.values()):
        distinct = list(dict.fromkeys(values))
        for start, end in _spans(values):
            value = values[start]
            shade = SHADES[distinct.index(value) % len(SHADES)]
            axes.barh(row, end - start, left=start, height=0.7, color=shade, edgecolor="white")
            label = value if len(value) <= MOST_LETTERS else f"{value[: MOST_LETTERS - 3]}..."
            # matplotlib reads what stands between dollars as a formula.
            axes.text((start + end) / 2, row, label.replace("$", r"\$"), ha="center", va="center", fontsize=7)
    axes.set_yticks(range(len(states)), [name.replace("_", " ") for name in states])
    periods = range(len(next(iter(states.values()))))
    axes.set_xticks([period + 0.5 for period in periods], list(map(str, periods)))
    axes.set(title="What is true of the user, by period", xlabel="period (0: the start)", xlim=(0, len(periods)))
    axes.invert_yaxis()


def _spans(values: Sequence[str]) -> list[tuple[int, int]]:
    """Return where each value begins and ends, as indices of periods."""
    spans: list[tuple[int, int]] = []
    start = 0
    for index in range(1, len(values) + 1):
        if index == len(values) or values[index] != values[start]:
            spans.append((start, index))
            start = index
    return spans
