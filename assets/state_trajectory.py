"""Stage 5: an initial state, then a few changes per period (section 3.1; App. C.3, initial state and state updates)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from dateutil.relativedelta import relativedelta
from pydantic import create_model

from assets.asking import Ask, ask
from assets.legal import LegalReply, one_of_each
from assets.ports import LanguageModel
from assets.records.base import Text
from assets.records.profile import UserProfile
from assets.records.recipe import Recipe
from assets.records.schema import StateSchema
from assets.records.trajectory import StateTrajectory, StateUpdate, TrajectoryPeriod
from assets.stage import Face, Row, stage_asset
from assets.stage_kind import Stage
from assets.state_schema import STATE_SCHEMA
from assets.user_profiles import USER_PROFILES
from prompts.catalogue import load_prompt


@dataclass
class Course:
    """The trajectory as it grows: the state now, the periods so far, and how often each variable changed."""

    schema: StateSchema
    recipe: Recipe
    periods: list[TrajectoryPeriod]
    counts: dict[str, int] = field(default_factory=dict[str, int])

    @property
    def state(self) -> dict[str, str]:
        """The state at the end of the last period."""
        return self.periods[-1].state

    def room(self, changing: Mapping[str, object] | list[str]) -> int:
        """How many updates later periods can still hold if these variables change in the coming one.

        A variable may change once per period and `max_changes_per_state` times in all.
        """
        later = self.recipe.num_periods - len(self.periods)
        left = [self.recipe.max_changes_per_state - count - (name in changing) for name, count in self.counts.items()]
        return sum(max(0, min(changes, later)) for changes in left)

    def offered(self) -> dict[str, list[str]]:
        """Variables that may still change, each with the values it does not have now."""
        return {
            name: [choice for choice in choices if choice != self.state[name]]
            for name, choices in self.schema.choices.items()
            if self.counts[name] < self.recipe.max_changes_per_state
        }

    def bounds(self) -> tuple[int, int]:
        """The least and the greatest number of updates in the coming period that leave enough room for later ones."""
        offered = sorted(self.offered(), key=lambda name: self.counts[name])
        needed = self.recipe.fewest_changes * (self.recipe.num_periods - len(self.periods))
        least = min(self.recipe.fewest_changes, len(offered))
        most = min(self.recipe.num_changes_per_period + 1, len(offered))
        while most > least and self.room(offered[:most]) < needed:
            most -= 1
        return least, most


async def evolve_state(profile: UserProfile, schema: StateSchema, *, recipe: Recipe, model: LanguageModel) -> StateTrajectory:
    """Choose the initial state, then the updates of each period in turn; every period depends on the ones before."""
    initial = await _initial_state(profile, schema, recipe=recipe, model=model)
    first = TrajectoryPeriod(index=0, start=None, end=recipe.start_date, summary=None, updates=(), state=initial)
    course = Course(schema, recipe, [first], dict.fromkeys(schema.choices, 0))
    for _ in range(recipe.num_periods):
        course.periods.append(await _next_period(profile, course, model=model))
        for update in course.periods[-1].updates:
            course.counts[update.variable] += 1
    return StateTrajectory(user_id=profile.user_id, periods=tuple(course.periods))


async def _initial_state(profile: UserProfile, schema: StateSchema, *, recipe: Recipe, model: LanguageModel) -> dict[str, str]:
    prompt = load_prompt("state_trajectory/initial").render(
        user_profile=profile.formatted_str,
        start_date=recipe.start_date.isoformat(),
        state_schema=schema.choices,
        num_total_months=recipe.num_total_months,
    )

    def read(reply: LegalReply) -> dict[str, str]:
        given = reply.given()
        return {name: given[name] for name in schema.choices}

    return await ask(model, Ask(prompt, one_of_each(schema.choices), read), recipe=recipe)


def period_dates(recipe: Recipe, index: int) -> tuple[date, date]:
    """Start and end of period `index` (1 to N_p); each starts where the one before ends."""
    months = recipe.num_months_per_period
    return (
        recipe.start_date + relativedelta(months=months * (index - 1)),
        recipe.start_date + relativedelta(months=months * index),
    )


async def _next_period(profile: UserProfile, course: Course, *, model: LanguageModel) -> TrajectoryPeriod:
    index = len(course.periods)
    start, end = period_dates(course.recipe, index)
    least, most = course.bounds()
    prompt = load_prompt("state_trajectory/update").render(
        user_profile=profile.formatted_str,
        start_date=course.recipe.start_date.isoformat(),
        state_schema=course.offered(),
        current_state=course.state,
        prior_updates=[{update.variable: update.new for update in period.updates} for period in course.periods[1:]],
        update_counts=course.counts,
        period={"step": index, "steps": course.recipe.num_periods, "from": str(start), "to": str(end)},
        num_changes=max(least, min(course.recipe.num_changes_per_period, most)),
        max_changes_per_state=course.recipe.max_changes_per_state,
    )
    shape = _update_shape(course.offered())

    def read(reply: Any) -> TrajectoryPeriod:
        new: dict[str, str] = reply.updated.given()
        _check_updates(new, course, bounds=(least, most))
        updates = tuple(
            StateUpdate(variable=name, old=course.state[name], new=new[name]) for name in course.schema.choices if name in new
        )
        state = {**course.state, **new}
        return TrajectoryPeriod(index=index, start=start, end=end, summary=reply.period_summary, updates=updates, state=state)

    return await ask(model, Ask(prompt, shape, read), recipe=course.recipe)


def _update_shape(offered: dict[str, list[str]]) -> type[LegalReply]:
    updated = one_of_each(offered, required=False)
    return create_model("UpdateReply", __base__=LegalReply, period_summary=(Text, ...), updated=(updated, ...))


def _check_updates(new: dict[str, str], course: Course, *, bounds: tuple[int, int]) -> None:
    least, most = bounds
    if not least <= len(new) <= most:
        raise ValueError(f"{len(new)} variables change; let at least {least} and at most {most} change.")
    needed = course.recipe.fewest_changes * (course.recipe.num_periods - len(course.periods))
    if course.room(new) < min(needed, course.room([])):
        seldom = sorted(course.offered(), key=lambda name: course.counts[name])[:most]
        raise ValueError(f"Later periods would lack variables that may still change; choose among {seldom} instead.")


def _rows(trajectory: StateTrajectory) -> list[Row]:
    return [
        {
            "period": period.index,
            "ends": period.end,
            "summary": period.summary or "",
            "updates": {update.variable: f"{update.old} -> {update.new}" for update in period.updates},
        }
        for period in trajectory.periods
    ]


STATE_TRAJECTORY = Stage(
    name="state_trajectory",
    record=StateTrajectory,
    make=evolve_state,
    needs=(USER_PROFILES, STATE_SCHEMA),
    prompts=("state_trajectory/initial", "state_trajectory/update"),
)
state_trajectory = stage_asset(
    STATE_TRAJECTORY,
    Face(
        group="trajectory",
        description="The state at the start and its changes period by period, with a cap per variable (paper section 3.1, App. "
        "C.3). This is the ground truth that sessions reveal and answers depend on.",
        rows=_rows,
    ),
)
