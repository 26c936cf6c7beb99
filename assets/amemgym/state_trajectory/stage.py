"""Stage 5: from the schema, an initial state, then a few updates per period (section 3.1; App. C.3)."""

import itertools
from collections.abc import Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Any

from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import StateSchema, StateTrajectory, StateUpdate, TrajectoryPeriod, select_values
from assets.amemgym.rewriting import rewrite_text
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.constraints import PeriodConstraints, TrajectoryConstraints
from assets.amemgym.state_trajectory.days import change_days, period_dates, with_weekday
from assets.amemgym.state_trajectory.quality import earlier_values
from assets.amemgym.state_trajectory.story_reading import (
    StoryReader,
    StoryText,
    changes_of,
    read_story,
    summary_story,
    texts_per_call,
)
from assets.amemgym.trajectory_svg import trajectory_markdown
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import PromptCalls, Stage
from assets.llm.gate import Gate, GateAttempt, first_vote_number, pass_gates
from assets.llm.item_watch import show_draft
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import PROSE, ReplySchema, ask_structured, object_of, object_of_enums
from assets.recipe.amemgym import AMemGymRecipe
from assets.records.base import GateRecord
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription
from assets.text.calendar_words import WEEKDAYS
from assets.text.text_checks import TextInContext, faults
from prompts.catalogue import load_prompt
from prompts.template import RenderedPrompt


async def evolve_state(
    profile: UserProfile, schema: StateSchema, *, recipe: AMemGymRecipe, model: LanguageModel
) -> StateTrajectory:
    """Choose the initial state, then the updates of each period in turn; every period depends on the ones before.

    Then the summaries of all periods pass their gate together.
    """
    initial = await _initial_state(profile, schema, recipe=recipe, model=model)
    first = TrajectoryPeriod(index=0, start=None, end=recipe.start_date, summary=None, updates=(), state=initial)
    trajectory = TrajectoryConstraints(schema, recipe, [first])
    # One after the other: what may change in a period depends on what changed before.
    for _ in range(recipe.num_periods):
        show_draft(StateTrajectory(user_id=profile.user_id, periods=tuple(trajectory.periods)))
        trajectory.periods.append(await _next_period(profile, trajectory, model=model))
    show_draft(StateTrajectory(user_id=profile.user_id, periods=tuple(trajectory.periods)))
    drafted = trajectory.periods[1:]
    story = summary_story(drafted)
    if recipe.gates.consistency:
        await _pass_summary_gates(StoryReader(profile, schema, recipe, model), drafted, story)
    periods = [first]
    records: list[GateRecord] = []
    for period, attempt in zip(drafted, story, strict=True):
        periods.append(period.model_copy(update={"summary": attempt.text}))
        records.extend(attempt.records)
    return StateTrajectory(user_id=profile.user_id, periods=tuple(periods), gate_records=tuple(records))


async def _initial_state(
    profile: UserProfile, schema: StateSchema, *, recipe: AMemGymRecipe, model: LanguageModel
) -> dict[str, str]:
    # A value that the profile states is the only one on offer.
    offered = {**schema.choices, **{name: [value] for name, value in schema.known_at_first.items()}}
    prompt = load_prompt("state_trajectory/initial").render(
        user_profile=profile.in_prompt,
        start_date=recipe.start_date.isoformat(),
        state_schema=offered,
        exclusive=schema.never_together,
        num_total_months=recipe.num_total_months,
    )

    def convert(reply: dict[str, str]) -> dict[str, str]:
        _check_excluded(schema, reply)
        return select_values(reply, schema.choices)

    reply_schema: ReplySchema[dict[str, str]] = ReplySchema(object_of_enums(offered))
    return await ask_structured(model, prompt=prompt, reply=reply_schema, convert=convert, settings=recipe.asking)


def _check_excluded(schema: StateSchema, state: Mapping[str, str]) -> None:
    """Raise ValueError, with a sentence for the model, where the state holds two values that exclude each other."""
    excluded = schema.excluded(state)
    if excluded:
        raise ValueError(f"The state would hold {excluded[0]} at the same time, which exclude each other; choose otherwise.")


async def _next_period(profile: UserProfile, trajectory: TrajectoryConstraints, *, model: LanguageModel) -> TrajectoryPeriod:
    recipe = trajectory.recipe
    constraints = trajectory.next_period()
    story = story_so_far(trajectory.periods[1:], summary_story(trajectory.periods[1:]))
    offered = trajectory.offered_choices()
    parts = {"period_summary": PROSE, "updated": object_of_enums(offered, required=False)}
    schema: ReplySchema[dict[str, Any]] = ReplySchema(object_of(parts))
    tries = itertools.count()

    def convert(reply: dict[str, Any]) -> TrajectoryPeriod:
        return _period_of(reply, trajectory, constraints, last_try=next(tries) >= recipe.gates.max_reasks)

    period = await ask_structured(
        model,
        prompt=_update_prompt(profile, trajectory, constraints, offered=offered, story=story),
        reply=schema,
        convert=convert,
        settings=recipe.asking,
    )
    if period.summary and not any(faults(summary_in_context(period.summary, period, profile=profile, recipe=recipe))):
        return period
    # The summary by itself: a call for it is shorter than one for all of the update.
    reader = StoryReader(profile, trajectory.schema, recipe, model)
    return period.model_copy(update={"summary": await _rewrite(reader, period, story=story, sample=0)})


def _update_prompt(
    profile: UserProfile,
    trajectory: TrajectoryConstraints,
    constraints: PeriodConstraints,
    *,
    offered: Mapping[str, Sequence[str]],
    story: Mapping[str, str],
) -> RenderedPrompt:
    """Return the request for the next period's changes, with all that they have to respect."""
    recipe = trajectory.recipe
    index = len(trajectory.periods)
    start, end = period_dates(recipe, index)
    days = change_days(trajectory.schema, recipe, index)
    least, most = constraints.bounds
    due: dict[str, object] | None = None
    if constraints.due_changes:
        due = {"of": constraints.never_changed, "at_least": constraints.due_changes}
    answers: dict[str, int] | None = None
    if constraints.answer_change_bounds:
        fewest, greatest = constraints.answer_change_bounds
        answers = {"at_least": fewest, "at_most": greatest}
    return load_prompt("state_trajectory/update").render(
        user_profile=profile.in_prompt,
        start_date=recipe.start_date.isoformat(),
        story=story,
        state_schema=offered,
        current_state=trajectory.state,
        earlier_values=earlier_values(trajectory.periods),
        change_days={name: f"{days[name]:%m-%d}, {WEEKDAYS[days[name].weekday()][:3]}" for name in offered},
        period={"step": index, "steps": recipe.num_periods, "from": str(start), "to": str(end)},
        num_changes=max(least, min(recipe.num_changes_per_period, most)),
        max_changes_per_state=recipe.max_changes_per_state,
        exclusive=trajectory.exclusive_in_reach(),
        due=due,
        questions=trajectory.questions if answers else None,
        answers=answers,
        language=recipe.language_name,
    )


def _period_of(
    reply: Mapping[str, Any], trajectory: TrajectoryConstraints, constraints: PeriodConstraints, *, last_try: bool
) -> TrajectoryPeriod:
    """Return the next period as a reply has it. Raises ValueError, with a sentence for the model, where it may not be so."""
    index = len(trajectory.periods)
    start, end = period_dates(trajectory.recipe, index)
    days = change_days(trajectory.schema, trajectory.recipe, index)
    changed: dict[str, str] = reply["updated"]
    # A model that cannot count would lose the user: some of its changes do as well, and its summary is then told anew.
    kept = constraints.most_that_may_change(changed) if last_try else list(changed)
    constraints.check(kept or changed, last=last_try)
    state = {**trajectory.state, **select_values(changed, kept)}
    _check_excluded(trajectory.schema, state)
    updates: list[StateUpdate] = []
    # In the schema's order, whatever the reply's: equal updates are equal bytes.
    for name in trajectory.schema.choices:
        if name in kept:
            updates.append(StateUpdate(variable=name, old=trajectory.state[name], new=changed[name], day=days[name]))
    summary = reply["period_summary"] if len(kept) == len(changed) else None
    return TrajectoryPeriod(index=index, start=start, end=end, summary=summary, updates=tuple(updates), state=state)


def story_so_far(periods: Sequence[TrajectoryPeriod], summaries: Sequence[GateAttempt]) -> dict[str, str]:
    """Return the summaries of these periods, each by its last day: what a writer of the next one has to go on from."""
    return {str(period.end): own.text for period, own in zip(periods, summaries, strict=True)}


def summary_in_context(summary: str, period: TrajectoryPeriod, *, profile: UserProfile, recipe: AMemGymRecipe) -> TextInContext:
    """Return a period's summary as the style check sees it, which it is written for at the period's end."""
    return TextInContext(
        "summary",
        summary,
        recipe.language,
        name=profile.name,
        day=period.end,
        roles=profile.cast.names_by_role,
        rooms=profile.cast.rooms,
    )


async def _pass_summary_gates(reader: StoryReader, periods: Sequence[TrajectoryPeriod], story: Sequence[GateAttempt]) -> None:
    gated: list[list[tuple[Gate[StoryText], GateAttempt]]] = []
    for position, attempt in enumerate(story):
        # Each summary is a source of its own: a judge sees the whole story anyway.
        gated.append([(summary_gate(reader, periods, position, story), attempt)])
    await pass_gates(gated, partial(read_story, reader), size=texts_per_call(reader.recipe), recipe=reader.recipe)


def summary_gate(
    reader: StoryReader, periods: Sequence[TrajectoryPeriod], position: int, story: Sequence[GateAttempt]
) -> Gate[StoryText]:
    """Return the gate of the summary at a position of the story, which is that of the periods.

    It has to tell of its period's changes, need not tell any value, and tells none against the state.
    """
    period = periods[position]

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        before = story_so_far(periods[:position], story[:position])
        return await _rewrite(reader, period, story=before, sample=sample, refused=text, reading=reading)

    async def redraft(number: int) -> str:
        before = story_so_far(periods[:position], story[:position])
        return await _rewrite(reader, period, story=before, sample=first_vote_number(number, 0))

    subject = StoryText(story, position, [period.end for period in periods], period.state, changes_of(periods))
    return Gate("summary", {}, subject, refine, redraft)


async def _rewrite(
    reader: StoryReader,
    period: TrajectoryPeriod,
    *,
    story: Mapping[str, str],
    sample: int,
    refused: str = "",
    reading: Mapping[str, str] | None = None,
) -> str:
    prompt = load_prompt("state_trajectory/retell").render(
        user_profile=reader.profile.in_prompt,
        story=story,
        period={"from": str(period.start), "to": str(period.end)},
        state_changes=changes_in_prompt(period, reader.schema),
        summary=refused,
        reading=reading or {},
        language=reader.recipe.language_name,
    )
    in_context = partial(summary_in_context, period=period, profile=reader.profile, recipe=reader.recipe)
    return await rewrite_text(
        prompt, "period_summary", in_context, noun="Summary", sample=sample, recipe=reader.recipe, model=reader.model
    )


def changes_in_prompt(period: TrajectoryPeriod, schema: StateSchema) -> dict[str, dict[str, object]]:
    """Return each of the period's changes, with its day and the choices from which a text has to set the new value apart."""
    changes: dict[str, dict[str, object]] = {}
    for update in period.updates:
        choices = schema.choices[update.variable]
        changes[update.variable] = {
            "day": with_weekday(update.day),
            "old": update.old,
            "new": update.new,
            "choices": choices,
        }
    return changes


def _story_votes(recipe: AMemGymRecipe) -> float:
    """Return the votes on all summaries, and on the events of the next stage, which asks the same prompt."""
    if not recipe.gates.consistency:
        return 0.0
    shared = recipe.gates.texts_per_call * (recipe.num_changes_per_period + 1)
    events = recipe.num_periods * recipe.num_changes_per_period
    summary_calls = recipe.gates.votes_for("summary")[1] * max(1.0, recipe.num_periods / shared)
    return summary_calls + recipe.gates.votes_for("event")[1] * max(1.0, events / shared)


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
    calls={
        "state_trajectory/initial": PromptCalls(),
        "state_trajectory/update": PromptCalls(attrgetter("num_periods"), in_sequence=True),
        "state_trajectory/check": PromptCalls(_story_votes, always=False),
        "state_trajectory/retell": PromptCalls(attrgetter("num_periods"), always=False),
    },
    version=8,
    description=AssetDescription(
        group="states",
        description="The state at the start and its changes period by period, with a cap per variable (paper section 3.1, App. "
        "C.3): the truth that sessions reveal and answers need. Each change has its day. No state holds two values that "
        "exclude each other.",
        rows=preview_rows("periods.updates", "period=index day variable old new summary"),
        picture=trajectory_markdown,
    ),
)
