"""Constraints on the updates of each period: those allowed, those due, and those that later periods still need (App. C.3)."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations

from assets.amemgym.records.state import StateSchema, TrajectoryPeriod
from assets.amemgym.state_trajectory.quality import (
    all_can_move,
    change_counts,
    count_golden_changes,
    questions_touched,
    recently_left_values,
    unmoved_variables,
)
from assets.amemgym.state_trajectory.value_ranges import value_ranges
from assets.engine.seeded_random import SeededRandom
from assets.recipe.amemgym import AMemGymRecipe

CANDIDATES = 200  # sets of variables tried, to come near to the wanted number of changed answers


@dataclass
class TrajectoryConstraints:
    """A trajectory while it is made: the schema, and the periods so far."""

    schema: StateSchema
    recipe: AMemGymRecipe
    periods: list[TrajectoryPeriod] = field(default_factory=list[TrajectoryPeriod])

    @property
    def state(self) -> dict[str, str]:
        """The state at the end of the last period."""
        return self.periods[-1].state

    @property
    def counts(self) -> dict[str, int]:
        """Variable to the number of its changes."""
        return change_counts(self.periods)

    @cached_property
    def ranges(self) -> dict[str, list[str]]:
        """The values that each variable may take in this life."""
        return value_ranges(self.schema, self.periods[0].state, recipe=self.recipe)

    @property
    def periods_after_next(self) -> int:
        """The number of periods that follow the coming one."""
        return self.recipe.num_periods - len(self.periods)

    @property
    def questions(self) -> dict[str, list[str]]:
        """The variables of each question, by question id."""
        return {question.question_id: list(question.required_info) for question in self.schema.questions}

    def later_updates(self, changing: Collection[str]) -> int:
        """Return how many updates later periods can still hold if these variables change in the coming one.

        A variable may change once per period and `max_changes_per_state` times in all.
        """
        updates = 0
        for name, count in self.counts.items():
            left = self.recipe.max_changes_per_state - count - (name in changing)
            updates += max(0, min(left, self.periods_after_next))
        return updates

    def leaves_too_few_updates(self, changing: Collection[str]) -> bool:
        """Return True where these changes would leave later periods fewer updates than they need, if that can be helped."""
        needed = self.recipe.fewest_changes * self.periods_after_next
        return self.later_updates(changing) < min(needed, self.later_updates([]))

    def offered_choices(self) -> dict[str, list[str]]:
        """Return the variables that may still change, each with the values it may take, those that it never had first.

        The value that a variable left in the last two periods is held back, unless the period would lack changes.
        """
        recent = recently_left_values(self.periods)
        counts = self.counts
        offered: dict[str, list[str]] = {}
        returning: dict[str, list[str]] = {}
        for name, values in self.ranges.items():
            if counts[name] >= self.recipe.max_changes_per_state:
                continue
            had = {period.state[name] for period in self.periods}
            others = [value for value in values if value != self.state[name]]
            fresh = [value for value in others if value != recent.get(name)]
            if fresh:
                offered[name] = sorted(fresh, key=had.__contains__)
            else:
                returning[name] = others
        for name, values in returning.items():
            if len(offered) <= self.recipe.num_changes_per_period:
                offered[name] = values
        return offered

    def exclusive_in_reach(self) -> list[dict[str, str]]:
        """Return the pairs of values that exclude each other and that the coming period could bring together."""
        reachable: set[tuple[str, str]] = set(self.state.items())
        for name, values in self.offered_choices().items():
            reachable.update((name, value) for value in values)
        return [pair for pair in self.schema.never_together if reachable.issuperset(pair.items())]

    def next_period(self) -> "PeriodConstraints":
        """Return the constraints of the coming period."""
        return PeriodConstraints(self, tuple(sorted(self.offered_choices(), key=self.counts.__getitem__)))


@dataclass(frozen=True)
class PeriodConstraints:
    """The constraints of one period. `offered_variables` are the variables that may change, those that changed least first."""

    trajectory: TrajectoryConstraints
    offered_variables: tuple[str, ...]

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest number of updates that leave enough room for later periods."""
        recipe = self.trajectory.recipe
        least = min(recipe.fewest_changes, len(self.offered_variables))
        most = min(recipe.num_changes_per_period + 1, len(self.offered_variables))
        # Fewer at a time, until the variables that are left can carry the periods that are left.
        while most > least and self.trajectory.leaves_too_few_updates(self.offered_variables[:most]):
            most -= 1
        return least, most

    @cached_property
    def never_changed(self) -> list[str]:
        """The variables on offer that have never changed, where the recipe has room for all to change."""
        movable = all_can_move(len(self.trajectory.schema.choices), self.trajectory.recipe)
        return [name for name in unmoved_variables(self.trajectory.periods) if movable and name in self.offered_variables]

    @cached_property
    def due_changes(self) -> int:
        """The number of those that never changed that have to change now, so that later periods can take the rest."""
        _, most = self.bounds
        later = self.trajectory.periods_after_next * self.trajectory.recipe.num_changes_per_period
        return max(0, min(len(self.never_changed) - later, most))

    @cached_property
    def wanted_answer_changes(self) -> int | None:
        """The number of questions that should get another right answer, so that the recipe's share holds; None: any number."""
        share = self.trajectory.recipe.golden_changes
        if share is None:
            return None
        questions = self.trajectory.questions.values()
        so_far = sum(count_golden_changes(self.trajectory.periods, questions))
        wanted = round(share * len(questions) * len(self.trajectory.periods))
        return min(len(questions), max(0, wanted - so_far))

    @cached_property
    def example(self) -> list[str]:
        """Variables whose change keeps to everything, and comes nearest to the wanted number of questions."""
        least, most = self.bounds
        if self.wanted_answer_changes is None:
            count = max(least, min(self.trajectory.recipe.num_changes_per_period, most), self.due_changes)
            return list(self.offered_variables[:count])
        fitting = [names for names in self._candidates() if not self._problem(names)]
        return min(fitting, key=self._distance_from_wanted, default=list(self.offered_variables[:most]))

    def _candidates(self) -> Iterator[list[str]]:
        least, most = self.bounds
        schema = self.trajectory.schema
        rng = SeededRandom(self.trajectory.recipe.world_seed, schema.user_id, "changes", len(self.trajectory.periods))
        # First the simplest sets: of those that changed least, as many as may change.
        for count in range(most, least - 1, -1):
            yield list(self.offered_variables[:count])
        for _ in range(CANDIDATES):
            yield rng.sample(self.offered_variables, least + rng.integer_below(most - least + 1))

    def _distance_from_wanted(self, names: Collection[str]) -> int:
        return abs(questions_touched(names, self.trajectory.questions.values()) - (self.wanted_answer_changes or 0))

    @cached_property
    def answer_change_bounds(self) -> tuple[int, int] | None:
        """The least and the greatest number of questions that should get another right answer, None where any will do."""
        if self.wanted_answer_changes is None:
            return None
        # At least as wide as what the example needs, so that the model is never asked for what cannot be.
        tolerance = max(1, self._distance_from_wanted(self.example))
        greatest = min(len(self.trajectory.questions), self.wanted_answer_changes + tolerance)
        return max(0, self.wanted_answer_changes - tolerance), greatest

    def _problem(self, names: Collection[str], *, last: bool = False) -> str:
        """Return the reason why these variables may not change together, "" where they may."""
        if not last and len(set(names) & set(self.never_changed)) < self.due_changes:
            return f"Of {self.never_changed}, which have never changed, at least {self.due_changes} must change now"
        if self.trajectory.leaves_too_few_updates(names):
            return "Later periods would lack variables that may still change"
        return ""

    def check(self, names: Collection[str], *, last: bool) -> None:
        """Raise ValueError, with a sentence for the model, unless these variables may change together.

        The wanted number of changed answers is a wish, and so is that each variable changes, which the only value left to it
        may not allow: neither is insisted on when this is the `last` try.
        """
        least, most = self.bounds
        if not least <= len(names) <= most:
            raise ValueError(f"{len(names)} variables change; let at least {least} and at most {most} change.")
        problem = self._problem(names, last=last)
        count = questions_touched(names, self.trajectory.questions.values())
        if self.answer_change_bounds is not None and not (problem or last):
            fewest, greatest = self.answer_change_bounds
            if not fewest <= count <= greatest:
                problem = f"{count} questions have a variable that changes; {fewest} to {greatest} should"
        if problem:
            raise ValueError(f"{problem}; for instance, change {self.example} instead.")

    def most_that_may_change(self, names: Collection[str]) -> list[str]:
        """Return as many of these variables as may change together at the last try; empty for none.

        Those that are due come first, then those that changed least.
        """
        least, most = self.bounds
        in_order = [name for name in self.offered_variables if name in names]
        for last in (False, True):
            for count in range(min(most, len(in_order)), least - 1, -1):
                for fewer in combinations(in_order, count):
                    if not self._problem(fewer, last=last):
                        return list(fewer)
        return []
