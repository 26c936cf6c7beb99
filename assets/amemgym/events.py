"""Stage 6: from a period's updates, the life events that caused them (section 3.1; App. C.3, elaboration)."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

from pydantic import BaseModel

from assets.amemgym import stage_summaries
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import Event, EventSet, PeriodEvents, StateSchema, StateTrajectory, TrajectoryPeriod
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY, changes_shown
from assets.amemgym.state_trajectory.told_states import StoryReader, StoryText, read_story, texts_per_call
from assets.amemgym.text_checks import StyleCheck, TextInContext
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import Stage
from assets.llm.async_calls import gather_all
from assets.llm.gate import Gate, GateAttempt, pass_gates
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import TEXT, ReplySchema, ask_structured, enum_of, list_of, object_of
from assets.records.base import Text, duplicates
from assets.reporting.asset_description import AssetDescription, Row
from prompts.catalogue import load_prompt


class EventReply(BaseModel):
    """The paper's key, for an event told anew."""

    event: Text


async def elaborate_events(
    profile: UserProfile, schema: StateSchema, trajectory: StateTrajectory, *, recipe: AMemGymRecipe, model: LanguageModel
) -> EventSet:
    """Explain the updates of all periods, each in a call of its own, all at once; then let all events pass their gate."""
    reader, periods = StoryReader(profile, schema, recipe, model), trajectory.periods[1:]
    drafted = await gather_all(*(_draft(reader, period, _changed(period), sample=0) for period in periods))
    attempts = [
        [GateAttempt(f"e{period.index:02d}-{number:02d}", event.text) for number, event in enumerate(own, start=1)]
        for period, own in zip(periods, drafted, strict=True)
    ]
    if recipe.gates.consistency:
        await _pass_event_gates(reader, periods, drafted=drafted, attempts=attempts)
    return EventSet(
        user_id=profile.user_id,
        periods=tuple(
            PeriodEvents(
                index=period.index,
                events=tuple(Event(states=event.states, text=one.text) for event, one in zip(*both, strict=True)),
            )
            for period, *both in zip(periods, drafted, attempts, strict=True)
        ),
        gate_records=tuple(record for own in attempts for attempt in own for record in attempt.records),
    )


def _changed(period: TrajectoryPeriod) -> list[str]:
    return [update.variable for update in period.updates]


async def _draft(
    reader: StoryReader, period: TrajectoryPeriod, changed: Collection[str], *, sample: int, whole: bool = False
) -> tuple[Event, ...]:
    """Events that account for these of the period's changes, or a single one that accounts for the `whole` of them."""
    recipe, changes = reader.recipe, changes_shown(period, reader.schema)
    prompt = load_prompt("events/elaborate").render(
        user_profile=reader.profile.formatted_str,
        start_date=recipe.start_date.isoformat(),
        period={"from": str(period.start), "to": str(period.end), "summary": period.summary},
        state_changes={name: changes[name] for name in changed},
        unchanged_states=_unchanged(period),
        language=recipe.language_name,
    )
    new = {update.variable: update.new for update in period.updates}
    style = StyleCheck(recipe.gates.max_reasks, strict=True, noun="Event")

    def convert(reply: dict[str, list[dict[str, Any]]]) -> tuple[Event, ...]:
        # To name a change twice within one event says nothing new.
        events = tuple(Event(states=tuple(dict.fromkeys(one["states"])), text=one["event"]) for one in reply["events"])
        check_causes([name for event in events for name in event.states], set(changed))
        style.check(event_in_context(event, new, recipe=recipe) for event in events)
        return events

    return await ask_structured(
        reader.model,
        prompt=prompt,
        reply=_reply_schema(changed, most=1 if whole else len(changed)),
        convert=convert,
        sample=sample,
        recipe=recipe,
    )


def _unchanged(period: TrajectoryPeriod) -> dict[str, str]:
    changed = set(_changed(period))
    return {name: value for name, value in period.state.items() if name not in changed}


async def _pass_event_gates(
    reader: StoryReader,
    periods: Sequence[TrajectoryPeriod],
    *,
    drafted: Sequence[Sequence[Event]],
    attempts: Sequence[Sequence[GateAttempt]],
) -> None:
    story = [attempt for own in attempts for attempt in own]
    told = [(period, event) for period, own in zip(periods, drafted, strict=True) for event in own]
    gated = [
        [(event_gate(reader, period, event, subject=StoryText(story, place)), story[place])]
        for place, (period, event) in enumerate(told)
    ]
    await pass_gates(gated, partial(read_story, reader), size=texts_per_call(reader.recipe), recipe=reader.recipe)


def event_gate(reader: StoryReader, period: TrajectoryPeriod, event: Event, *, subject: StoryText) -> Gate[StoryText]:
    """The gate of an event, out of which judges have to read its new values and nothing else."""
    new = {name: period.state[name] for name in event.states}

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        changes = changes_shown(period, reader.schema)
        prompt = load_prompt("events/refine").render(
            user_profile=reader.profile.formatted_str,
            period={"from": str(period.start), "to": str(period.end)},
            state_changes={name: changes[name] for name in event.states},
            unchanged_states=_unchanged(period),
            event=text,
            reading=reading,
            language=reader.recipe.language_name,
        )
        style = StyleCheck(reader.recipe.gates.max_reasks, strict=True, noun="Event")

        def convert(reply: EventReply) -> str:
            style.check([event_in_context(Event(states=event.states, text=reply.event), new, recipe=reader.recipe)])
            return reply.event

        return await ask_structured(
            reader.model, prompt=prompt, reply=EventReply, convert=convert, sample=sample, recipe=reader.recipe
        )

    async def redraft(number: int) -> str:
        (drafted,) = await _draft(reader, period, event.states, sample=number, whole=True)
        return drafted.text

    return Gate("event", new, subject, refine, redraft)


def event_in_context(event: Event, new: Mapping[str, str], *, recipe: AMemGymRecipe) -> TextInContext:
    """An event as the style check sees it; `new`: variable to value, for all that the period changes."""
    values = [new[name] for name in event.states if name in new]
    return TextInContext("event", event.text, recipe.language, others=values, finder=recipe.gates.contact_data)


def _reply_schema(changed: Collection[str], *, most: int) -> ReplySchema[dict[str, list[dict[str, Any]]]]:
    """The paper's keys: events, each with the changes that it explains."""
    event = object_of({"states": list_of(enum_of(sorted(changed))), "event": TEXT})
    return ReplySchema(object_of({"events": list_of(event, max_items=most)}))


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
    prompts=("events/elaborate", "events/refine", "state_trajectory/check"),
    version=2,
    description=AssetDescription(
        group="trajectory",
        description="What happened in the user's life that caused each period's changes (paper section 3.1, App. C.3). Every "
        "update belongs to exactly one event, which judges read back, and no event touches an unchanged state.",
        rows=_rows,
        summary=stage_summaries.summarize_events,
    ),
)
