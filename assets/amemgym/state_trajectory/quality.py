"""Measures of how a state moves through its periods, for the stage that drafts it and the rules that check it.

All take periods in order, the initial one first: those of a trajectory or of an episode.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from assets.amemgym.records.state import StateUpdate, select_values, variables_of
from assets.recipe.amemgym import AMemGymRecipe

PING_PONG_PERIODS = 2  # later than that, a return is a change like any other


class Period(Protocol):
    """The part of a period that these measures read."""

    @property
    def updates(self) -> tuple[StateUpdate, ...]: ...

    @property
    def state(self) -> dict[str, str]: ...


@dataclass(frozen=True)
class PingPong:
    """A variable that left `value` in the period with index `left` and had it again with the update of period `back`."""

    variable: str
    value: str
    left: int
    back: int


def ping_pongs(periods: Sequence[Period]) -> list[PingPong]:
    """Return every A -> B -> A whose second change comes at most two periods after the first, in order of the return."""
    last: dict[str, tuple[int, str]] = {}
    returns: list[PingPong] = []
    for index, period in enumerate(periods):
        for update in period.updates:
            left, value = last.get(update.variable, (-PING_PONG_PERIODS - 1, ""))
            if update.new == value and index - left <= PING_PONG_PERIODS:
                returns.append(PingPong(update.variable, value, left, index))
            last[update.variable] = (index, update.old)
    return returns


def recently_left_values(periods: Sequence[Period]) -> dict[str, str]:
    """Return for each variable the value to which it would return too early in the period that comes next."""
    left: dict[str, str] = {}
    for period in periods[-PING_PONG_PERIODS:]:
        for update in period.updates:
            left[update.variable] = update.old
    return left


def earlier_values(periods: Sequence[Period]) -> dict[str, list[str]]:
    """Return for each variable the values that it had before its present one, in order: one for each of its changes."""
    earlier: dict[str, list[str]] = {name: [] for name in periods[0].state}
    for period in periods:
        for update in period.updates:
            earlier[update.variable].append(update.old)
    return earlier


def change_counts(periods: Sequence[Period]) -> dict[str, int]:
    """Return the number of changes of each variable, 0 included."""
    changes = Counter[str]()
    for period in periods:
        changes.update(variables_of(period.updates))
    return select_values(changes, periods[0].state)


def unmoved_variables(periods: Sequence[Period]) -> list[str]:
    """Return the variables that keep their first value throughout."""
    return [name for name, count in change_counts(periods).items() if not count]


def all_can_move(variables: int, recipe: AMemGymRecipe) -> bool:
    """Return True if the recipe's changes per period are enough for so many variables to change once."""
    return variables <= recipe.num_periods * recipe.num_changes_per_period


def unvisited_choices(periods: Sequence[Period], choices: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return for each variable the choices that it never takes; variables that take all of them are left out."""
    missing: dict[str, list[str]] = {}
    for name, values in choices.items():
        taken = {period.state[name] for period in periods}
        left = [value for value in values if value not in taken]
        if left:
            missing[name] = left
    return missing


def balance(periods: Sequence[Period], choices: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return for each variable the evenness of the time spent in each of its choices.

    It is the entropy of the shares of periods over the logarithm of the number of choices: 1 when all choices take
    equally many periods, 0 when one takes them all.
    """
    evenness: dict[str, float] = {}
    for name, values in choices.items():
        counts = Counter(period.state[name] for period in periods)
        entropy = 0.0
        for count in counts.values():
            share = count / len(periods)
            entropy -= share * math.log(share)
        evenness[name] = entropy / math.log(len(values))
    return evenness


def count_golden_changes(periods: Sequence[Period], required: Iterable[Collection[str]]) -> list[int]:
    """Return the number of questions with another golden answer, by period after the first; `required`: their variables."""
    questions = list(required)
    counts: list[int] = []
    for period in periods[1:]:
        counts.append(questions_touched(variables_of(period.updates), questions))
    return counts


def questions_touched(changing: Collection[str], questions: Iterable[Collection[str]]) -> int:
    """Return the number of questions that need one of the changing variables."""
    names = frozenset(changing)
    count = 0
    for required in questions:
        if not names.isdisjoint(required):
            count += 1
    return count


def golden_change_share(periods: Sequence[Period], required: Sequence[Collection[str]]) -> float:
    """Return the share of (question, period) pairs whose golden answer differs from the period before.

    It is 34 to 40 % in the paper's data.
    """
    pairs = len(required) * (len(periods) - 1)
    if not pairs:
        return 0.0
    return sum(count_golden_changes(periods, required)) / pairs
