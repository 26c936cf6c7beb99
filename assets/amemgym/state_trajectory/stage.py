"""Stage 5: from the schema, an initial state, then a few updates per period (section 3.1; App. C.3)."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import lru_cache, partial
from typing import Any

from dateutil.relativedelta import relativedelta
from pydantic import BaseModel

from assets.amemgym import stage_summaries
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import StateSchema, StateTrajectory, StateUpdate, TrajectoryPeriod
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.constraints import TrajectoryConstraints
from assets.amemgym.state_trajectory.told_states import StoryReader, StoryText, read_story, texts_per_call
from assets.amemgym.text_checks import StyleCheck, TextInContext
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import Stage
from assets.llm.gate import Gate, GateAttempt, first_vote_number, pass_gates
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import TEXT, ReplySchema, ask_structured, object_of, object_of_enums
from assets.records.base import Text
from assets.reporting.asset_description import AssetDescription, Row
from prompts.catalogue import load_prompt


class SummaryReply(BaseModel):
    """The paper's key, for a summary told anew."""

    period_summary: Text


async def evolve_state(
    profile: UserProfile, schema: StateSchema, *, recipe: AMemGymRecipe, model: LanguageModel
) -> StateTrajectory:
    """Choose the initial state, then the updates of each period in turn; every period depends on the ones before.

    Then the summaries of all periods pass their gate together.
    """
    initial = await _initial_state(profile, schema, recipe=recipe, model=model)
    first = TrajectoryPeriod(index=0, start=None, end=recipe.start_date, summary=None, updates=(), state=initial)
    trajectory = TrajectoryConstraints(schema, recipe, [first])
    for _ in range(recipe.num_periods):
        trajectory.periods.append(await _next_period(profile, trajectory, model=model))
    attempts = [GateAttempt(f"t{period.index:02d}", period.summary or "") for period in trajectory.periods[1:]]
    if recipe.gates.consistency:
        await _pass_summary_gates(StoryReader(profile, schema, recipe, model), trajectory.periods[1:], attempts)
    told = [
        period.model_copy(update={"summary": attempt.text})
        for period, attempt in zip(trajectory.periods[1:], attempts, strict=True)
    ]
    return StateTrajectory(
        user_id=profile.user_id,
        periods=(first, *told),
        gate_records=tuple(record for attempt in attempts for record in attempt.records),
    )


async def _initial_state(
    profile: UserProfile, schema: StateSchema, *, recipe: AMemGymRecipe, model: LanguageModel
) -> dict[str, str]:
    prompt = load_prompt("state_trajectory/initial").render(
        user_profile=profile.formatted_str,
        start_date=recipe.start_date.isoformat(),
        state_schema=schema.choices,
        exclusive=schema.never_together,
        num_total_months=recipe.num_total_months,
    )

    def convert(reply: dict[str, str]) -> dict[str, str]:
        _check_excluded(schema, reply)
        return {name: reply[name] for name in schema.choices}

    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of_enums(schema.choices))
    return await ask_structured(model, prompt=prompt, reply=reply_schema, convert=convert, recipe=recipe)


def _check_excluded(schema: StateSchema, state: Mapping[str, str]) -> None:
    """Raise ValueError, with a sentence for the model, where the state holds two values that exclude each other."""
    if excluded := schema.excluded(state):
        raise ValueError(f"The state would hold {excluded[0]} at the same time, which exclude each other; choose otherwise.")


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
        exclusive=trajectory.exclusive_in_reach(),
        due={"of": constraints.never_changed, "at_least": constraints.due_changes} if constraints.due_changes else None,
        questions=trajectory.questions if constraints.answer_change_bounds else None,
        answers={"at_least": constraints.answer_change_bounds[0], "at_most": constraints.answer_change_bounds[1]}
        if constraints.answer_change_bounds
        else None,
        language=trajectory.recipe.language_name,
    )
    reply_schema, attempts = _update_schema(offered), itertools.count()
    style = StyleCheck(trajectory.recipe.gates.max_reasks, strict=True, noun="Summary")

    def convert(reply: dict[str, Any]) -> TrajectoryPeriod:
        changed: dict[str, str] = reply["updated"]
        constraints.check(changed, last=next(attempts) >= trajectory.recipe.gates.max_reasks)
        _check_excluded(trajectory.schema, {**trajectory.state, **changed})
        style.check([summary_in_context(reply["period_summary"], changed.values(), recipe=trajectory.recipe)])
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


def summary_in_context(summary: str, new: Iterable[str], *, recipe: AMemGymRecipe) -> TextInContext:
    """A period's summary as the style check sees it; `new`: the values that its updates bring."""
    return TextInContext("summary", summary, recipe.language, others=tuple(new), finder=recipe.gates.contact_data)


async def _pass_summary_gates(
    reader: StoryReader, periods: Sequence[TrajectoryPeriod], attempts: Sequence[GateAttempt]
) -> None:
    gated = [[(summary_gate(reader, period, attempts), attempt)] for period, attempt in zip(periods, attempts, strict=True)]
    await pass_gates(gated, partial(read_story, reader), size=texts_per_call(reader.recipe), recipe=reader.recipe)


def summary_gate(reader: StoryReader, period: TrajectoryPeriod, story: Sequence[GateAttempt]) -> Gate[StoryText]:
    """The gate of a period's summary, which need not tell any value and tells none against the state."""

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        return await _retell(reader, period, sample=sample, refused=text, reading=reading)

    subject = StoryText(story, period.index - 1, period.state)
    return Gate("summary", {}, subject, refine, lambda draft: _retell(reader, period, sample=first_vote_number(draft, 0)))


async def _retell(
    reader: StoryReader, period: TrajectoryPeriod, *, sample: int, refused: str = "", reading: Mapping[str, str] | None = None
) -> str:
    prompt = load_prompt("state_trajectory/retell").render(
        user_profile=reader.profile.formatted_str,
        period={"from": str(period.start), "to": str(period.end)},
        state_changes=changes_shown(period, reader.schema),
        summary=refused,
        reading=reading or {},
        language=reader.recipe.language_name,
    )
    style = StyleCheck(reader.recipe.gates.max_reasks, strict=True, noun="Summary")

    def convert(reply: SummaryReply) -> str:
        style.check([summary_in_context(reply.period_summary, (one.new for one in period.updates), recipe=reader.recipe)])
        return reply.period_summary

    return await ask_structured(
        reader.model, prompt=prompt, reply=SummaryReply, convert=convert, sample=sample, recipe=reader.recipe
    )


def changes_shown(period: TrajectoryPeriod, schema: StateSchema) -> dict[str, dict[str, object]]:
    """Each of the period's changes, with the choices that the new value has to be told from."""
    return {
        update.variable: {"old": update.old, "new": update.new, "choices": schema.choices[update.variable]}
        for update in period.updates
    }


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
    prompts=(
        "state_trajectory/initial",
        "state_trajectory/update",
        "state_trajectory/check",
        "state_trajectory/retell",
    ),
    version=3,
    description=AssetDescription(
        group="trajectory",
        description="The state at the start and its changes period by period, with a cap per variable (paper section 3.1, App. "
        "C.3): the truth that sessions reveal and answers depend on. No state holds two values that exclude each "
        "other.",
        rows=_rows,
        summary=stage_summaries.summarize_trajectories,
    ),
)
