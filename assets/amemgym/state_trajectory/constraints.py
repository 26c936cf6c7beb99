"""A trajectory as it grows: what may change in the coming period, what has to, and what would leave later ones too little."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from assets.amemgym.records.schema import StateSchema
from assets.amemgym.records.trajectory import TrajectoryPeriod
from assets.amemgym.state_trajectory.quality import all_can_move, change_counts, golden_changes, just_left, touched, unmoved
from assets.engine.seeded_random import SeededRandom
from assets.recipe.recipe import Recipe

TRIES = 200  # of a choice of variables that comes near to the wanted share of changed answers


@dataclass
class Course:
    """The schema, the periods so far, and how often each variable changed in them."""

    schema: StateSchema
    recipe: Recipe
    periods: list[TrajectoryPeriod] = field(default_factory=list[TrajectoryPeriod])

    @property
    def state(self) -> dict[str, str]:
        """The state at the end of the last period."""
        return self.periods[-1].state

    @property
    def counts(self) -> dict[str, int]:
        """Variable to the number of its changes."""
        return change_counts(self.periods)

    @property
    def later(self) -> int:
        """How many periods follow the coming one."""
        return self.recipe.num_periods - len(self.periods)

    @property
    def questions(self) -> dict[str, list[str]]:
        """Question to its variables."""
        return {question.question_id: list(question.required_info) for question in self.schema.questions}

    def room(self, changing: Collection[str]) -> int:
        """How many updates later periods can still hold if these variables change in the coming one.

        A variable may change once per period and `max_changes_per_state` times in all.
        """
        left = [self.recipe.max_changes_per_state - count - (name in changing) for name, count in self.counts.items()]
        return sum(max(0, min(changes, self.later)) for changes in left)

    def starves(self, changing: Collection[str]) -> bool:
        """Whether these changes would leave later periods fewer updates than they need, where that can be helped."""
        return self.room(changing) < min(self.recipe.fewest_changes * self.later, self.room([]))

    def offered(self) -> dict[str, list[str]]:
        """Variables that may still change, each with the values it may take, those that it never had first.

        The value that a variable left in the last two periods is held back, unless no other is left.
        """
        recent, counts = just_left(self.periods), self.counts
        had = {name: {period.state[name] for period in self.periods} for name in counts}
        found: dict[str, list[str]] = {}
        for name, choices in self.schema.choices.items():
            if counts[name] < self.recipe.max_changes_per_state:
                others = [value for value in choices if value != self.state[name]]
                onward = [value for value in others if value != recent.get(name)] or others
                found[name] = sorted(onward, key=lambda value, name=name: value in had[name])
        return found

    def plan(self) -> "Plan":
        """What the coming period has to keep to."""
        return Plan(self, tuple(sorted(self.offered(), key=lambda name: self.counts[name])))


@dataclass(frozen=True)
class Plan:
    """The constraints of one period. `seldom`: the variables on offer, those that changed least first."""

    course: Course
    seldom: tuple[str, ...]

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The least and the greatest number of updates that leave enough room for later periods."""
        recipe = self.course.recipe
        least = min(recipe.fewest_changes, len(self.seldom))
        most = min(recipe.num_changes_per_period + 1, len(self.seldom))
        while most > least and self.course.starves(self.seldom[:most]):
            most -= 1
        return least, most

    @cached_property
    def waiting(self) -> list[str]:
        """The variables that have never changed, where the recipe has room for all to change."""
        movable = all_can_move(len(self.course.schema.choices), self.course.recipe)
        return unmoved(self.course.periods) if movable else []

    @cached_property
    def due(self) -> int:
        """How many of those waiting have to change now, so that later periods can take the rest."""
        rest = len(self.waiting) - self.course.later * self.course.recipe.num_changes_per_period
        return max(0, min(rest, self.bounds[1]))

    @cached_property
    def wanted(self) -> int | None:
        """How many questions should get another right answer, so that the recipe's share holds so far; None: any number."""
        share, questions = self.course.recipe.golden_changes, self.course.questions.values()
        if share is None:
            return None
        so_far = sum(golden_changes(self.course.periods, questions))
        return min(len(questions), max(0, round(share * len(questions) * len(self.course.periods)) - so_far))

    @cached_property
    def example(self) -> list[str]:
        """Variables whose change keeps to everything, and comes nearest to the wanted number of questions."""
        least, most = self.bounds
        if self.wanted is None:
            return list(self.seldom[: max(least, min(self.course.recipe.num_changes_per_period, most))])
        fitting = [names for names in self._candidates() if not self._forbids(names)]
        return min(fitting, key=self._miss, default=list(self.seldom[:most]))

    def _candidates(self) -> Iterator[list[str]]:
        least, most = self.bounds
        schema = self.course.schema
        rng = SeededRandom(self.course.recipe.seed, schema.user_id, "changes", len(self.course.periods))
        yield from (list(self.seldom[:count]) for count in range(most, least - 1, -1))
        for _ in range(TRIES):
            yield rng.sample(self.seldom, least + rng.integer_below(most - least + 1))

    def _miss(self, names: Collection[str]) -> int:
        return abs(touched(names, self.course.questions.values()) - (self.wanted or 0))

    @cached_property
    def answers(self) -> tuple[int, int] | None:
        """The least and the greatest number of questions that should get another right answer, None where any will do."""
        if self.wanted is None:
            return None
        miss = max(1, self._miss(self.example))
        return max(0, self.wanted - miss), min(len(self.course.questions), self.wanted + miss)

    def _forbids(self, names: Collection[str]) -> str:
        """Why these variables may not change together, "" where they may."""
        if len(set(names) & set(self.waiting)) < self.due:
            return f"Of {self.waiting}, which have never changed, at least {self.due} must change now"
        if self.course.starves(names):
            return "Later periods would lack variables that may still change"
        return ""

    def check(self, names: Collection[str], *, last: bool) -> None:
        """Raise ValueError, with a sentence for the model, unless these variables may change together.

        The wanted number of changed answers is a wish: it is not insisted on when this is the `last` try.
        """
        least, most = self.bounds
        if not least <= len(names) <= most:
            raise ValueError(f"{len(names)} variables change; let at least {least} and at most {most} change.")
        problem = self._forbids(names)
        count = touched(names, self.course.questions.values())
        if not (problem or last) and self.answers is not None and not self.answers[0] <= count <= self.answers[1]:
            problem = f"{count} questions have a variable that changes; {self.answers[0]} to {self.answers[1]} should"
        if problem:
            raise ValueError(f"{problem}; for instance, change {self.example} instead.")
