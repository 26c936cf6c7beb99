"""Stage 6: from a period's updates, the life events that caused them (section 3.1; App. C.3, elaboration)."""

from typing import Any

from assets.amemgym import stage_summaries
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import Event, EventSet, PeriodEvents, StateSchema, StateTrajectory, TrajectoryPeriod
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.async_calls import gather_all
from assets.engine.stage import Stage
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import TEXT, ReplySchema, ask_structured, enum_of, list_of, object_of
from assets.records.base import duplicates
from assets.reporting.asset_description import AssetDescription, Row
from prompts.catalogue import load_prompt


async def elaborate_events(
    profile: UserProfile, schema: StateSchema, trajectory: StateTrajectory, *, recipe: AMemGymRecipe, model: LanguageModel
) -> EventSet:
    """Explain the updates of all periods, each period in a call of its own, all at once."""
    periods = await gather_all(
        *(_period_events(profile, schema, period, recipe=recipe, model=model) for period in trajectory.periods[1:])
    )
    return EventSet(user_id=profile.user_id, periods=tuple(periods))


async def _period_events(
    profile: UserProfile, schema: StateSchema, period: TrajectoryPeriod, *, recipe: AMemGymRecipe, model: LanguageModel
) -> PeriodEvents:
    changed = {update.variable for update in period.updates}
    prompt = load_prompt("events/elaborate").render(
        user_profile=profile.formatted_str,
        start_date=recipe.start_date.isoformat(),
        period={"from": str(period.start), "to": str(period.end), "summary": period.summary},
        state_changes={
            update.variable: {"old": update.old, "new": update.new, "choices": schema.choices[update.variable]}
            for update in period.updates
        },
        unchanged_states={name: value for name, value in period.state.items() if name not in changed},
        language=recipe.language_name,
    )

    def convert(reply: dict[str, list[dict[str, Any]]]) -> PeriodEvents:
        # To name a change twice within one event says nothing new.
        events = tuple(Event(states=tuple(dict.fromkeys(one["states"])), text=one["event"]) for one in reply["events"])
        check_causes([name for event in events for name in event.states], changed)
        return PeriodEvents(index=period.index, events=events)

    return await ask_structured(model, prompt=prompt, reply=_reply_schema(changed), convert=convert, recipe=recipe)


def _reply_schema(changed: set[str]) -> ReplySchema[dict[str, list[dict[str, Any]]]]:
    """The paper's keys: events, each with the changes that it explains."""
    event = object_of({"states": list_of(enum_of(sorted(changed))), "event": TEXT})
    return ReplySchema(object_of({"events": list_of(event, max_items=len(changed))}))


def check_causes(caused: list[str], changed: set[str]) -> None:
    """Raise ValueError unless the events cause every change once."""
    missing, repeated = sorted(changed - set(caused)), duplicates(caused)
    if missing or repeated:
        raise ValueError(f"Every change needs exactly one event; without event: {missing}, in several: {repeated}.")


def _rows(record: EventSet) -> list[Row]:
    return [
        {"period": period.index, "states": event.states, "event": event.text}
        for period in record.periods
        for event in period.events
    ]


EVENTS = Stage(
    name="events",
    record=EventSet,
    make=elaborate_events,
    needs=(USER_PROFILES, STATE_SCHEMA, STATE_TRAJECTORY),
    prompts=("events/elaborate",),
    description=AssetDescription(
        group="trajectory",
        description="What happened in the user's life that caused each period's changes (paper section 3.1, App. C.3). Every "
        "update belongs to exactly one event, and no event touches an unchanged state.",
        rows=_rows,
        summary=stage_summaries.summarize_events,
    ),
)
