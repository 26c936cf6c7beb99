"""Choose which variables may change where each answer shall need a value that was told long ago (`min_periods_held`).

In any `min_periods_held` periods in a row each question keeps one of its values. Which variables change now decides which can
later, so the periods that are left are played through a few times, and the best of these futures begins.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from assets.amemgym.records.state import variables_of
from assets.amemgym.state_trajectory.quality import Period, change_counts
from assets.engine.seeded_random import SeededRandom
from assets.recipe.amemgym import AMemGymRecipe

FUTURES = 30  # at most; the first without a fault ends it
STEPS = 100  # of a random rank
# By so many steps those come earlier that changed lately: variables that change one after the other let the rest be held.
LATELY_FIRST = 30
SPARE = 2  # further variables on offer, for the new values of some may be excluded by the profile or by other values


@dataclass
class _Future:
    """The periods from the next one on, as they may go.

    `counts` and `last`: how often each variable has changed, and in which period last. `first`: what may change in the next
    period. `broken`: changes that leave a question without a value held long enough. `too_few`: changes that periods lack.
    """

    questions: Mapping[str, Sequence[Collection[str]]]
    recipe: AMemGymRecipe
    counts: Counter[str]
    last: dict[str, int]
    first: list[str] = field(default_factory=list[str])
    broken: int = 0
    too_few: int = 0

    def play(self, period: int, rng: SeededRandom) -> None:
        """Go through the periods from this one to the last."""
        ranks = {name: rng.integer_below(STEPS) for name in self.questions}
        for index in range(period, self.recipe.num_periods + 1):
            free = self._free_to_change(index, ranks, rng)
            if index == period:
                self.first = free
            for name in free[: self.recipe.num_changes_per_period]:
                self.counts[name] += 1
                self.last[name] = index

    @property
    def badness(self) -> tuple[int, int, int]:
        """What is least in the best future: broken holds, variables that never change, changes that periods lack."""
        unmoved = sum(not self.counts[name] for name in self.questions)
        return self.broken, unmoved, self.too_few

    def _free_to_change(self, index: int, ranks: Mapping[str, int], rng: SeededRandom) -> list[str]:
        """Return the variables that may all change in a period, by rank; each question then still holds a value."""
        held = self.recipe.min_periods_held or 0
        lately = {name for name, when in self.last.items() if when > index - held}
        order: dict[str, int] = {}
        for name, rank in ranks.items():
            if self.counts[name] < self.recipe.max_changes_per_state:
                order[name] = rank + rng.integer_below(STEPS // 2) - LATELY_FIRST * (name in lately)
        free: list[str] = []
        left: list[str] = []
        for name in sorted(order, key=order.__getitem__):
            if len(free) == self.recipe.num_changes_per_period + SPARE:
                break
            if self._unheld(name, lately.union(free)):
                left.append(name)
            else:
                free.append(name)
        self.too_few += max(0, self.recipe.num_changes_per_period - len(free))
        # A period has its changes, also where a question can then hold no value.
        while left and len(free) < self.recipe.fewest_changes:
            moved = lately.union(free)
            name = min(left, key=lambda one: self._unheld(one, moved))
            left.remove(name)
            self.broken += self._unheld(name, moved)
            free.append(name)
        return free

    def _unheld(self, name: str, moved: Collection[str]) -> int:
        """Return the number of questions that hold no value any more if this variable changes too."""
        count = 0
        for required in self.questions[name]:
            count += all(one == name or one in moved for one in required)
        return count


def variables_to_change(
    questions: Collection[Collection[str]], periods: Sequence[Period], *, recipe: AMemGymRecipe, rng: SeededRandom
) -> list[str]:
    """Return the variables that may change in the period after these, so that values are held as long as the recipe asks.

    `questions`: the variables of each. Where holds leave a period too few changes, those that break fewest of them are added.
    """
    by_variable: dict[str, list[Collection[str]]] = {}
    for name in periods[0].state:
        by_variable[name] = [required for required in questions if name in required]
    counts = Counter(change_counts(periods))
    last: dict[str, int] = {}
    for index, period in enumerate(periods):
        last.update(dict.fromkeys(variables_of(period.updates), index))
    best: _Future | None = None
    for _ in range(FUTURES):
        future = _Future(by_variable, recipe, Counter(counts), dict(last))
        future.play(len(periods), rng)
        if best is None or future.badness < best.badness:
            best = future
        if not any(best.badness):
            break
    assert best is not None
    return best.first
