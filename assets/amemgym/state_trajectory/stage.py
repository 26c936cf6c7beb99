"""Stage 5: from the schema, an initial state, then a few updates per period (section 3.1; App. C.3)."""

import itertools
from datetime import date
from functools import lru_cache
from typing import Any

from dateutil.relativedelta import relativedelta

from assets.amemgym import stage_summaries
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import StateSchema, StateTrajectory, StateUpdate, TrajectoryPeriod
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.constraints import TrajectoryConstraints
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import TEXT, ReplySchema, ask_structured, object_of, object_of_enums
from assets.reporting.asset_description import AssetDescription, Row
from prompts.catalogue import load_prompt


async def evolve_state(
    profile: UserProfile, schema: StateSchema, *, recipe: AMemGymRecipe, model: LanguageModel
) -> StateTrajectory:
    """Choose the initial state, then the updates of each period in turn; every period depends on the ones before."""
    initial = await _initial_state(profile, schema, recipe=recipe, model=model)
    first = TrajectoryPeriod(index=0, start=None, end=recipe.start_date, summary=None, updates=(), state=initial)
    trajectory = TrajectoryConstraints(schema, recipe, [first])
    for _ in range(recipe.num_periods):
        trajectory.periods.append(await _next_period(profile, trajectory, model=model))
    return StateTrajectory(user_id=profile.user_id, periods=tuple(trajectory.periods))


async def _initial_state(
    profile: UserProfile, schema: StateSchema, *, recipe: AMemGymRecipe, model: LanguageModel
) -> dict[str, str]:
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


def period_dates(recipe: AMemGymRecipe, index: int) -> tuple[date, date]:
    """Start and end of period `index` (1 to N_p); each starts where the one before ends."""
    months, first_day = recipe.num_months_per_period, recipe.start_date
    return _months_after(first_day, months=months * (index - 1)), _months_after(recipe.start_date, months=months * index)


@lru_cache(maxsize=256)  # all users have the same periods
def _months_after(day: date, *, months: int) -> date:
    return day + relativedelta(months=months)


async def _next_period(profile: UserProfile, trajectory: TrajectoryConstraints, *, model: LanguageModel) -> TrajectoryPeriod:
    index = len(trajectory.periods)
    start, end = period_dates(trajectory.recipe, index)
    constraints, offered = trajectory.next_period(), trajectory.offered_choices()
    least, most = constraints.bounds
    prompt = load_prompt("state_trajectory/update").render(
        user_profile=profile.formatted_str,
        start_date=trajectory.recipe.start_date.isoformat(),
        state_schema=offered,
        current_state=trajectory.state,
        prior_updates=[{update.variable: update.new for update in period.updates} for period in trajectory.periods[1:]],
        update_counts=trajectory.counts,
        period={"step": index, "steps": trajectory.recipe.num_periods, "from": str(start), "to": str(end)},
        num_changes=max(least, min(trajectory.recipe.num_changes_per_period, most)),
        max_changes_per_state=trajectory.recipe.max_changes_per_state,
        due={"of": constraints.never_changed, "at_least": constraints.due_changes} if constraints.due_changes else None,
        questions=trajectory.questions if constraints.answer_change_bounds else None,
        answers={"at_least": constraints.answer_change_bounds[0], "at_most": constraints.answer_change_bounds[1]}
        if constraints.answer_change_bounds
        else None,
    )
    reply_schema, attempts = _update_schema(offered), itertools.count()

    def convert(reply: dict[str, Any]) -> TrajectoryPeriod:
        changed: dict[str, str] = reply["updated"]
        constraints.check(changed, last=next(attempts) >= trajectory.recipe.gates.max_reasks)
        updates = tuple(
            StateUpdate(variable=name, old=trajectory.state[name], new=changed[name])
            for name in trajectory.schema.choices
            if name in changed
        )
        state = {**trajectory.state, **changed}
        return TrajectoryPeriod(
            index=index, start=start, end=end, summary=reply["period_summary"], updates=updates, state=state
        )

    return await ask_structured(model, prompt=prompt, reply=reply_schema, convert=convert, recipe=trajectory.recipe)


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
        summary=stage_summaries.summarize_trajectories,
    ),
)
