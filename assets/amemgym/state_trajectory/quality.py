"""How well a state moves through its periods: measures for the stage that drafts it and the rules that check it.

All take periods in order, the initial one first: those of a trajectory or of an episode.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.state import StateUpdate

PING_PONG_PERIODS = 2


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
    """Every A -> B -> A whose second change comes at most two periods after the first, in order of the return."""
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
    """Variable to the value that it would play ping-pong with in the period that comes next."""
    recent = range(max(0, len(periods) - PING_PONG_PERIODS), len(periods))
    return {update.variable: update.old for index in recent for update in periods[index].updates}


def change_counts(periods: Sequence[Period]) -> dict[str, int]:
    """Variable to the number of its changes, 0 included."""
    counts = Counter(update.variable for period in periods for update in period.updates)
    return {name: counts[name] for name in periods[0].state}


def unmoved(periods: Sequence[Period]) -> list[str]:
    """The variables that keep their first value throughout."""
    return [name for name, count in change_counts(periods).items() if not count]


def all_can_move(variables: int, recipe: AMemGymRecipe) -> bool:
    """Whether a trajectory with the recipe's changes per period has room for every one of so many variables."""
    return variables <= recipe.num_periods * recipe.num_changes_per_period


def unvisited(periods: Sequence[Period], choices: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Variable to the choices that it never takes; variables that take all of them are left out."""
    seen = {name: {period.state[name] for period in periods} for name in choices}
    missing = {name: [value for value in values if value not in seen[name]] for name, values in choices.items()}
    return {name: values for name, values in missing.items() if values}


def balance(periods: Sequence[Period], choices: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Variable to the evenness of the time spent in each of its choices.

    It is the entropy of the shares of periods over the logarithm of the number of choices: 1 when all choices take
    equally many periods, 0 when one takes them all.
    """
    return {name: _evenness([period.state[name] for period in periods], len(values)) for name, values in choices.items()}


def _evenness(values: Sequence[str], choices: int) -> float:
    shares = [values.count(value) / len(values) for value in dict.fromkeys(values)]
    return -sum(share * math.log(share) for share in shares) / math.log(choices)


def golden_changes(periods: Sequence[Period], required: Iterable[Collection[str]]) -> list[int]:
    """How many questions get another golden answer, period by period after the first; `required`: each one's variables."""
    questions = [frozenset(names) for names in required]
    moved = [{update.variable for update in period.updates} for period in periods[1:]]
    return [questions_touched(names, questions) for names in moved]


def questions_touched(changing: Collection[str], questions: Iterable[Collection[str]]) -> int:
    """How many questions need one of the changing variables."""
    names = frozenset(changing)
    return sum(not names.isdisjoint(required) for required in questions)


def golden_change_share(periods: Sequence[Period], required: Sequence[Collection[str]]) -> float:
    """The share of (question, period) pairs whose golden answer differs from the period before; 34-40 % in the paper's data."""
    pairs = len(required) * (len(periods) - 1)
    return sum(golden_changes(periods, required)) / pairs if pairs else 0.0
