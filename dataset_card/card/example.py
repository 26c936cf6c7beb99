"""One user's story for the card: what he said first, what changed, and how that changes the right answer to a question."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from assets.amemgym.records.episode import Episode, EpisodeQuestion

SHADES = ("#dbe7f3", "#9cc3e4", "#f2c879", "#5b93c7", "#d98c3f")
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
    """The first change of a right answer; None for a user whose right answers all stay."""
    for question in episode.questions:
        for period, (before, after) in enumerate(pairwise(question.golden), start=1):
            if before != after:
                return _told(episode, question, period)
    return None


def _told(episode: Episode, question: EpisodeQuestion, period: int) -> Example:
    answers = {choice.choice_id: choice.answer for choice in question.answer_choices}
    periods, names = episode.periods, question.required_info
    changed = {update.variable for update in periods[period].updates} & set(names)
    first = next(one for one in periods[0].sessions if changed & set(one.exposed_states))
    later = next(one for one in periods[period].sessions if changed & set(one.exposed_states))
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
        states={name: tuple(one.state[name] for one in periods) for name in dict.fromkeys(names)},
    )


def states_panel(states: dict[str, tuple[str, ...]], axes: Axes) -> None:
    """A row for each variable, a bar for each value it holds, over the periods."""
    for row, values in enumerate(states.values()):
        shades = {value: SHADES[number % len(SHADES)] for number, value in enumerate(dict.fromkeys(values))}
        for start, end in _spans(values):
            axes.barh(row, end - start, left=start, height=0.7, color=shades[values[start]], edgecolor="white")
            label = values[start] if len(values[start]) <= MOST_LETTERS else f"{values[start][: MOST_LETTERS - 3]}..."
            axes.text((start + end) / 2, row, label.replace("$", r"\$"), ha="center", va="center", fontsize=7)
    axes.set_yticks(range(len(states)), [name.replace("_", " ") for name in states])
    periods = range(len(next(iter(states.values()))))
    axes.set_xticks([period + 0.5 for period in periods], [str(period) for period in periods])
    axes.set(title="What is true of the user, by period", xlabel="period (0: the start)", xlim=(0, len(periods)))
    axes.invert_yaxis()


def _spans(values: Sequence[str]) -> list[tuple[int, int]]:
    """Where a value begins and where the next one does."""
    starts = [0, *(place for place, (old, new) in enumerate(pairwise(values), start=1) if old != new)]
    return list(zip(starts, [*starts[1:], len(values)], strict=True))
