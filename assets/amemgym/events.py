"""Stage 6: from a period's updates, the life events that caused them (section 3.1; App. C.3, elaboration)."""

from collections.abc import Collection, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from operator import attrgetter
from typing import Any

from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import (
    Event,
    EventSet,
    PeriodEvents,
    StateSchema,
    StateTrajectory,
    TrajectoryPeriod,
    selected,
    without,
)
from assets.amemgym.rewriting import rewrite_text
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY, changes_in_prompt
from assets.amemgym.state_trajectory.story_reading import StoryReader, StoryText, read_story, texts_per_call
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import PromptCalls, Stage
from assets.llm.async_calls import gather_all
from assets.llm.gate import Gate, GateAttempt, pass_gates
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import PROSE, ReplySchema, ask_structured, enum_of, list_of, object_of
from assets.recipe.amemgym import AMemGymRecipe, calls_for_changes, values_apart
from assets.records.base import GateRecord, ItemFailed, duplicates
from assets.reporting.asset_description import AssetDescription, Metadata, Row
from assets.reporting.histogram import histogram, rounded_mean
from assets.text.text_checks import StyleCheck, TextInContext, blocking_faults
from assets.text.words import count_tokens
from prompts.catalogue import load_prompt


@dataclass(frozen=True)
class GatedEvent:
    """A drafted event of a period, with its way through the gate."""

    period: TrajectoryPeriod
    draft: Event
    attempt: GateAttempt


async def elaborate_events(
    profile: UserProfile, schema: StateSchema, trajectory: StateTrajectory, *, recipe: AMemGymRecipe, model: LanguageModel
) -> EventSet:
    """Explain the updates of all periods, each in a call of its own, all at once; then let all events pass their gate."""
    reader = StoryReader(profile, schema, recipe, model)
    drafted = await gather_all(*map(partial(_draft_period, reader), trajectory.periods[1:]))
    story = list(chain.from_iterable(drafted))
    if recipe.gates.consistency:
        await _pass_event_gates(reader, story)
    periods: list[PeriodEvents] = []
    records: list[GateRecord] = []
    for index, own in enumerate(drafted, start=1):
        finished: list[Event] = []
        for one in own:
            finished.append(Event(states=one.draft.states, text=one.attempt.text))
            records.extend(one.attempt.records)
        periods.append(PeriodEvents(index=index, events=tuple(finished)))
    return EventSet(user_id=profile.user_id, periods=tuple(periods), gate_records=tuple(records))


async def _draft_period(reader: StoryReader, period: TrajectoryPeriod) -> list[GatedEvent]:
    events = await _draft_together_or_apart(reader, period)
    attempts = await gather_all(*(_in_style(reader, period, number, event) for number, event in enumerate(events, start=1)))
    return [GatedEvent(period, event, attempt) for event, attempt in zip(events, attempts, strict=True)]


async def _draft_together_or_apart(reader: StoryReader, period: TrajectoryPeriod) -> Sequence[Event]:
    """Return events of all changes, apart where a writer cannot tell several in one call.

    Also apart where the recipe wants fewer values in a query than the prompt of queries allows: one event is for one query.
    """
    if values_apart(reader.recipe):
        return await _draft_apart(reader, period, most=reader.recipe.max_states_per_query, sample=0)
    try:
        return await _draft(reader, period, period.changed, sample=0)
    except ItemFailed:
        if len(period.changed) == 1:
            raise
    return await _draft_apart(reader, period, most=1, sample=1)


async def _draft_apart(reader: StoryReader, period: TrajectoryPeriod, *, most: int, sample: int) -> list[Event]:
    """Return events of at most so many changes, each asked for by itself."""
    apart: list[Coroutine[Any, Any, tuple[Event, ...]]] = []
    for start in range(0, len(period.changed), most):
        apart.append(_draft(reader, period, period.changed[start : start + most], sample=sample, whole=True))
    return list(chain.from_iterable(await gather_all(*apart)))


async def _in_style(reader: StoryReader, period: TrajectoryPeriod, number: int, event: Event) -> GateAttempt:
    """Return the event's text, or one written by itself where a call of several left a fault in it that a rule would block."""
    item_id = f"e{period.index:02d}-{number:02d}"
    if not blocking_faults(event_in_context(event, period.state, recipe=reader.recipe)):
        return GateAttempt(item_id, event.text)
    (alone,) = await _draft(reader, period, event.states, sample=1, whole=True)
    return GateAttempt(item_id, alone.text, draft=1)


async def _draft(
    reader: StoryReader, period: TrajectoryPeriod, changed: Collection[str], *, sample: int, whole: bool = False
) -> tuple[Event, ...]:
    """Return events that account for these of the period's changes, or a single one that accounts for the `whole` of them.

    The writer of a single one does not get the period's summary, which tells of other changes too and would be told again.
    """
    recipe = reader.recipe
    known = {} if whole else {"summary": period.summary}
    changes = changes_in_prompt(period, reader.schema)
    prompt = load_prompt("events/elaborate").render(
        user_profile=reader.profile.formatted_str,
        start_date=recipe.start_date.isoformat(),
        period={"from": str(period.start), "to": str(period.end), **known},
        state_changes=selected(changes, changed),
        unchanged_states=without(period.state, period.changed),
        language=recipe.language_name,
    )
    style = StyleCheck.of_texts(recipe.gates.max_reasks, alone=whole, noun="Event")

    def convert(reply: dict[str, list[dict[str, Any]]]) -> tuple[Event, ...]:
        events: list[Event] = []
        caused: list[str] = []
        for one in reply["events"]:
            states = dict.fromkeys(one["states"])  # to name a change twice within one event says nothing new
            events.append(Event(states=tuple(states), text=one["event"]))
            caused.extend(states)
        check_causes(caused, set(changed))
        style.check(event_in_context(event, period.state, recipe=recipe) for event in events)
        return tuple(events)

    return await ask_structured(
        reader.model,
        prompt=prompt,
        reply=_reply_schema(changed, most=1 if whole else len(changed)),
        convert=convert,
        sample=sample,
        settings=recipe.asking,
    )


async def _pass_event_gates(reader: StoryReader, events: Sequence[GatedEvent]) -> None:
    story = [one.attempt for one in events]
    gated: list[list[tuple[Gate[StoryText], GateAttempt]]] = []
    for position, one in enumerate(events):
        # Each event is a source of its own: a judge sees the whole story anyway.
        gate = event_gate(reader, one.period, one.draft, subject=StoryText(story, position))
        gated.append([(gate, one.attempt)])
    await pass_gates(gated, partial(read_story, reader), size=texts_per_call(reader.recipe), recipe=reader.recipe)


def event_gate(reader: StoryReader, period: TrajectoryPeriod, event: Event, *, subject: StoryText) -> Gate[StoryText]:
    """Return the gate of an event, out of which judges have to read its new values and nothing else."""
    new = period.values_of(event.states)

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        changes = changes_in_prompt(period, reader.schema)
        prompt = load_prompt("events/refine").render(
            user_profile=reader.profile.formatted_str,
            period={"from": str(period.start), "to": str(period.end)},
            state_changes=selected(changes, event.states),
            unchanged_states=without(period.state, period.changed),
            event=text,
            reading=reading,
            language=reader.recipe.language_name,
        )

        def in_context(text: str) -> TextInContext:
            return event_in_context(Event(states=event.states, text=text), new, recipe=reader.recipe)

        return await rewrite_text(
            prompt, "event", in_context, noun="Event", sample=sample, recipe=reader.recipe, model=reader.model
        )

    async def redraft(number: int) -> str:
        (drafted,) = await _draft(reader, period, event.states, sample=number, whole=True)
        return drafted.text

    return Gate("event", new, subject, refine, redraft)


def event_in_context(event: Event, new: Mapping[str, str], *, recipe: AMemGymRecipe) -> TextInContext:
    """Return an event as the style check sees it; `new`: variable to value, for all that the period changes."""
    values = [new[name] for name in event.states if name in new]
    return TextInContext(
        "event", event.text, recipe.language, others=values, finder=recipe.gates.contact_data, variables=event.states
    )


def _reply_schema(changed: Collection[str], *, most: int) -> ReplySchema[dict[str, list[dict[str, Any]]]]:
    """Return the paper's keys: events, each with the changes that it explains."""
    # Sorted, so that equal requests are equal bytes and are found in the reply cache.
    # Without an end a small model names one change for ever.
    states = list_of(enum_of(sorted(changed)), max_items=len(changed))
    event = object_of({"states": states, "event": PROSE})
    return ReplySchema(object_of({"events": list_of(event, max_items=most)}))


def check_causes(caused: list[str], changed: set[str]) -> None:
    """Raise ValueError unless the events cause every change once."""
    missing = sorted(changed - set(caused))
    repeated = duplicates(caused)
    if missing or repeated:
        raise ValueError(f"Every change needs exactly one event; without event: {missing}, in several: {repeated}.")


def summarize_events(sets: Sequence[EventSet]) -> Metadata:
    """Return how many events, and how many updates each of them explains."""
    updates: list[int] = []
    tokens: list[int] = []
    for one in sets:
        for event in one.events:
            updates.append(len(event.states))
            tokens.append(count_tokens(event.text))
    return {
        "events": len(tokens),
        "updates_per_event": rounded_mean(updates),
        "lengths": histogram(tokens, unit="tokens"),
    }


def _rows(record: EventSet) -> Iterator[Row]:
    for period in record.periods:
        for event in period.events:
            yield {"period": period.index, "states": event.states, "event": event.text}


EVENTS = Stage(
    name="events",
    record=EventSet,
    make=elaborate_events,
    needs=(USER_PROFILES, STATE_SCHEMA, STATE_TRAJECTORY),
    prompts=("events/elaborate", "events/refine", "state_trajectory/check"),
    calls={
        "events/elaborate": PromptCalls(calls_for_changes),
        "events/refine": PromptCalls(attrgetter("num_periods"), always=False),
    },
    version=4,
    description=AssetDescription(
        group="trajectory",
        description="What happened in the user's life that caused each period's changes (paper section 3.1, App. C.3). Every "
        "update belongs to exactly one event, which judges read back, and no event touches an unchanged state.",
        rows=_rows,
        summary=summarize_events,
    ),
)
