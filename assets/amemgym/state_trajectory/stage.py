"""Stage 5: an initial state, then a few changes per period (section 3.1; App. C.3, initial state and state updates)."""

import itertools
from datetime import date
from functools import lru_cache
from typing import Any

from dateutil.relativedelta import relativedelta

from assets.amemgym import stage_summaries
from assets.amemgym.records.profile import UserProfile
from assets.amemgym.records.schema import StateSchema
from assets.amemgym.records.trajectory import StateTrajectory, StateUpdate, TrajectoryPeriod
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.constraints import Course
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.llm.reply_schema import TEXT, ReplySchema, object_of, object_of_enums
from assets.llm.structured_output import ask_structured
from assets.recipe.recipe import Recipe
from assets.reporting.asset_description import AssetDescription
from assets.reporting.markdown import Row
from prompts.catalogue import load_prompt


async def evolve_state(profile: UserProfile, schema: StateSchema, *, recipe: Recipe, model: LanguageModel) -> StateTrajectory:
    """Choose the initial state, then the updates of each period in turn; every period depends on the ones before."""
    initial = await _initial_state(profile, schema, recipe=recipe, model=model)
    first = TrajectoryPeriod(index=0, start=None, end=recipe.start_date, summary=None, updates=(), state=initial)
    course = Course(schema, recipe, [first])
    for _ in range(recipe.num_periods):
        course.periods.append(await _next_period(profile, course, model=model))
    return StateTrajectory(user_id=profile.user_id, periods=tuple(course.periods))


async def _initial_state(profile: UserProfile, schema: StateSchema, *, recipe: Recipe, model: LanguageModel) -> dict[str, str]:
    prompt = load_prompt("state_trajectory/initial").render(
        user_profile=profile.formatted_str,
        start_date=recipe.start_date.isoformat(),
        state_schema=schema.choices,
        num_total_months=recipe.num_total_months,
    )

    def convert(reply: dict[str, str]) -> dict[str, str]:
        return {name: reply[name] for name in schema.choices}

    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of_enums(schema.choices))
    return await ask_structured(model, prompt=prompt, reply=reply_schema, convert=convert, recipe=recipe)


def period_dates(recipe: Recipe, index: int) -> tuple[date, date]:
    """Start and end of period `index` (1 to N_p); each starts where the one before ends."""
    months = recipe.num_months_per_period
    return _later(recipe.start_date, months=months * (index - 1)), _later(recipe.start_date, months=months * index)


@lru_cache(maxsize=256)  # all users have the same periods
def _later(day: date, *, months: int) -> date:
    return day + relativedelta(months=months)


async def _next_period(profile: UserProfile, course: Course, *, model: LanguageModel) -> TrajectoryPeriod:
    index = len(course.periods)
    start, end = period_dates(course.recipe, index)
    plan, offered = course.plan(), course.offered()
    least, most = plan.bounds
    prompt = load_prompt("state_trajectory/update").render(
        user_profile=profile.formatted_str,
        start_date=course.recipe.start_date.isoformat(),
        state_schema=offered,
        current_state=course.state,
        prior_updates=[{update.variable: update.new for update in period.updates} for period in course.periods[1:]],
        update_counts=course.counts,
        period={"step": index, "steps": course.recipe.num_periods, "from": str(start), "to": str(end)},
        num_changes=max(least, min(course.recipe.num_changes_per_period, most)),
        max_changes_per_state=course.recipe.max_changes_per_state,
        due={"of": plan.waiting, "at_least": plan.due} if plan.due else None,
        questions=course.questions if plan.answers else None,
        answers={"at_least": plan.answers[0], "at_most": plan.answers[1]} if plan.answers else None,
    )
    reply_schema, tries = _update_schema(offered), itertools.count()

    def convert(reply: dict[str, Any]) -> TrajectoryPeriod:
        new: dict[str, str] = reply["updated"]
        plan.check(new, last=next(tries) >= course.recipe.gates.max_reasks)
        updates = tuple(
            StateUpdate(variable=name, old=course.state[name], new=new[name]) for name in course.schema.choices if name in new
        )
        state = {**course.state, **new}
        return TrajectoryPeriod(
            index=index, start=start, end=end, summary=reply["period_summary"], updates=updates, state=state
        )

    return await ask_structured(model, prompt=prompt, reply=reply_schema, convert=convert, recipe=course.recipe)


def _update_schema(offered: dict[str, list[str]]) -> ReplySchema[dict[str, Any]]:
    return ReplySchema(object_of({"period_summary": TEXT, "updated": object_of_enums(offered, required=False)}))


def _rows(trajectory: StateTrajectory) -> list[Row]:
    return [
        {
            "period": period.index,
            "ends": period.end,
            "summary": period.summary or "",
            "updates": {update.variable: f"{update.old} → {update.new}" for update in period.updates},
        }
        for period in trajectory.periods
    ]


STATE_TRAJECTORY = Stage(
    name="state_trajectory",
    record=StateTrajectory,
    make=evolve_state,
    needs=(USER_PROFILES, STATE_SCHEMA),
    prompts=("state_trajectory/initial", "state_trajectory/update"),
    version=2,
    description=AssetDescription(
        group="trajectory",
        description="The state at the start and its changes period by period, with a cap per variable (paper section 3.1, App. "
        "C.3). This is the ground truth that sessions reveal and answers depend on.",
        rows=_rows,
        summary=stage_summaries.of_trajectories,
    ),
)
