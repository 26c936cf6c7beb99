"""Stage 6: from a period's updates, the life events that caused them (section 3.1; App. C.3, elaboration)."""

import asyncio
from collections.abc import Awaitable, Collection, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import partial
from itertools import chain, groupby
from operator import attrgetter
from typing import Any

from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.state import (
    Event,
    EventSet,
    PeriodEvents,
    StateSchema,
    StateTrajectory,
    StateUpdate,
    TrajectoryPeriod,
    select_values,
    variables_of,
    without,
)
from assets.amemgym.rewriting import rewrite_text
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.days import with_weekday
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY, changes_in_prompt, story_so_far
from assets.amemgym.state_trajectory.story_reading import (
    StoryReader,
    StoryText,
    read_story,
    summary_story,
    texts_per_call,
)
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import PromptCalls, Stage
from assets.llm.async_calls import gather_all
from assets.llm.gate import Gate, GateAttempt, pass_gates
from assets.llm.item_watch import show_draft
from assets.llm.ports import LanguageModel
from assets.llm.structured_output import PROSE, ReplySchema, ask_structured, enum_of, list_of, object_of
from assets.recipe.amemgym import AMemGymRecipe, calls_for_changes, values_apart
from assets.records.base import GateRecord, ItemFailed, duplicates
from assets.records.flat_tables import preview_rows
from assets.reporting.asset_description import AssetDescription
from assets.text.text_checks import StyleCheck, TextInContext, blocking_faults
from prompts.catalogue import load_prompt


@dataclass(frozen=True)
class GatedEvent:
    """A drafted event of a period, with its way through the gate."""

    period: TrajectoryPeriod
    draft: Event
    attempt: GateAttempt


@dataclass(frozen=True)
class EventWriter(StoryReader):
    """What every call about the user's events needs: `events` are those drafted so far, in order of time.

    A period's writer gets the summaries of all periods before it. Of the events it gets those that changed the same variables
    before: all of them would double the tokens of a call, and each period would have to wait for the one before.
    """

    trajectory: StateTrajectory
    events: list[GatedEvent] = field(default_factory=list[GatedEvent])

    def in_prompt(self, period: TrajectoryPeriod) -> dict[str, object]:
        """Return the prompt variables that all calls about events of a period share; nothing later than it is in them."""
        periods = self.trajectory.periods[1 : period.index]
        changed = set(period.changed)
        told: list[str] = []
        for event in self.events:
            if event.period.index < period.index and not changed.isdisjoint(event.draft.states):
                told.append(f"{with_weekday(event.draft.day)}: {event.attempt.text}")
        return {
            "user_profile": self.profile.in_prompt,
            "start_date": self.recipe.start_date.isoformat(),
            "story": story_so_far(periods, summary_story(periods)),
            "earlier_events": told,
            "period": {"from": str(period.start), "to": str(period.end)},
            "unchanged_states": without(period.state, period.changed),
            "language": self.recipe.language_name,
        }


async def elaborate_events(
    profile: UserProfile, schema: StateSchema, trajectory: StateTrajectory, *, recipe: AMemGymRecipe, model: LanguageModel
) -> EventSet:
    """Explain the updates of each period as soon as what they follow from is told; then let all events pass their gate."""
    writer = EventWriter(profile, schema, recipe, model, trajectory)
    drafting: dict[int, asyncio.Future[list[GatedEvent]]] = {}
    for period in trajectory.periods[1:]:
        before = [drafting[index] for index in _followed_periods(trajectory, period)]
        drafting[period.index] = asyncio.ensure_future(_draft_period(writer, period, before))
    writer.events.extend(chain.from_iterable(await gather_all(*drafting.values())))
    if any(not vote.accepted for vote in trajectory.gate_records):
        # What was drafted ahead may follow from a summary that has been told anew.
        for period in trajectory.periods[1:]:
            show_draft(_event_set(writer, to=period))
    if recipe.gates.consistency:
        await _pass_event_gates(writer)
    return _event_set(writer, to=trajectory.periods[-1])


async def draft_events(
    profile: UserProfile,
    schema: StateSchema,
    trajectory: StateTrajectory,
    earlier: Sequence[Awaitable[EventSet | None]],
    *,
    recipe: AMemGymRecipe,
    model: LanguageModel,
) -> EventSet | None:
    """Explain the updates of the last period, for no judge; with those of the last of all come those of all others.

    `earlier`: the drafts of the periods before it, from the initial one, which has none.
    """
    last = trajectory.periods[-1]
    if last.index == 0:
        return None
    writer = EventWriter(profile, schema, recipe, model, trajectory)
    before = [_take_draft(earlier[index], trajectory.periods[index]) for index in _followed_periods(trajectory, last)]
    writer.events.extend(await _draft_period(writer, last, before))
    if last.index == recipe.num_periods:
        others = map(_take_draft, earlier[1:], trajectory.periods[1:])
        writer.events[:0] = chain.from_iterable(await gather_all(*others))
    return _event_set(writer, to=last)


def _followed_periods(trajectory: StateTrajectory, period: TrajectoryPeriod) -> list[int]:
    """Return the periods before this one that changed a variable which it changes, and so have events for its writer."""
    changed = set(period.changed)
    return [before.index for before in trajectory.periods[1 : period.index] if not changed.isdisjoint(before.changed)]


async def _take_draft(drafting: Awaitable[EventSet | None], period: TrajectoryPeriod) -> list[GatedEvent]:
    """Return the period's events as they were drafted ahead. Raises ItemFailed where there are none."""
    drafted = await drafting
    if drafted is None:
        raise ItemFailed("call_failed", f"There are no events of period {period.index} to go on from.")
    return [GatedEvent(period, event, GateAttempt("", event.text)) for event in drafted.periods[-1].events]


def _event_set(writer: EventWriter, *, to: TrajectoryPeriod) -> EventSet:
    """Return the events up to this period with their texts as they are now."""
    periods: list[PeriodEvents] = []
    records: list[GateRecord] = []
    for index in range(1, to.index + 1):
        finished: list[Event] = []
        for event in writer.events:
            if event.period.index == index:
                finished.append(event.draft.model_copy(update={"text": event.attempt.text}))
                records.extend(event.attempt.records)
        periods.append(PeriodEvents(index=index, events=tuple(finished)))
    return EventSet(user_id=writer.profile.user_id, periods=tuple(periods), gate_records=tuple(records))


async def _draft_period(
    writer: EventWriter, period: TrajectoryPeriod, before: Iterable[Awaitable[list[GatedEvent]]]
) -> list[GatedEvent]:
    """Draft the period's events when those `before` are there, which it follows."""
    writer = replace(writer, events=list(chain.from_iterable(await gather_all(*before))))
    drafted = await _draft_together_or_apart(writer, period)
    # The sort is stable: events of one day stay in the order of the reply.
    events = sorted(drafted, key=lambda event: event.day or period.end)
    attempts = await gather_all(*(_in_style(writer, period, number, event) for number, event in enumerate(events, start=1)))
    return [GatedEvent(period, event, attempt) for event, attempt in zip(events, attempts, strict=True)]


async def _draft_together_or_apart(writer: EventWriter, period: TrajectoryPeriod) -> Sequence[Event]:
    """Return events of all changes, apart where a writer cannot tell several in one call.

    Also apart where the recipe wants fewer values in a query than the prompt of queries allows: one event is for one query.
    """
    if values_apart(writer.recipe):
        return await _draft_apart(writer, period, most=writer.recipe.max_states_per_query, sample=0)
    try:
        return await _draft(writer, period, period.changed, sample=0)
    except ItemFailed:
        if len(period.changed) == 1:
            raise
    return await _draft_apart(writer, period, most=1, sample=1)


async def _draft_apart(writer: EventWriter, period: TrajectoryPeriod, *, most: int, sample: int) -> list[Event]:
    """Return events of at most so many changes of one day, each asked for by itself."""
    apart: list[Coroutine[Any, Any, tuple[Event, ...]]] = []
    for _, same_day in groupby(sorted(period.updates, key=_day_of_update), key=_day_of_update):
        changed = variables_of(same_day)
        for start in range(0, len(changed), most):
            apart.append(_draft(writer, period, changed[start : start + most], sample=sample, whole=True))
    return list(chain.from_iterable(await gather_all(*apart)))


def _day_of_update(update: StateUpdate) -> date:
    return update.day or date.max


async def _in_style(writer: EventWriter, period: TrajectoryPeriod, number: int, event: Event) -> GateAttempt:
    """Return the event's text, or one written by itself where a call of several left a fault in it that a rule would block."""
    item_id = f"e{period.index:02d}-{number:02d}"
    if not blocking_faults(event_in_context(event, profile=writer.profile, recipe=writer.recipe)):
        return GateAttempt(item_id, event.text)
    (alone,) = await _draft(writer, period, event.states, sample=1, whole=True)
    return GateAttempt(item_id, alone.text, draft=1)


async def _draft(
    writer: EventWriter, period: TrajectoryPeriod, changed: Collection[str], *, sample: int, whole: bool = False
) -> tuple[Event, ...]:
    """Return events that account for these of the period's changes, or a single one that accounts for the `whole` of them.

    The writer of a single one does not get the period's summary, which tells of other changes too and would be told again.
    """
    recipe = writer.recipe
    changes = changes_in_prompt(period, writer.schema)
    prompt = load_prompt("events/elaborate").render(
        **writer.in_prompt(period),
        summary="" if whole else period.summary,
        state_changes=select_values(changes, changed),
    )
    style = StyleCheck.of_texts(recipe.gates.max_reasks, alone=whole, noun="Event")

    def convert(reply: dict[str, list[dict[str, Any]]]) -> tuple[Event, ...]:
        events: list[Event] = []
        caused: list[str] = []
        for row in reply["events"]:
            states = tuple(dict.fromkeys(row["states"]))  # to name a change twice within one event says nothing new
            events.append(Event(states=states, text=row["event"], day=day_of_event(states, period)))
            caused.extend(states)
        check_causes(caused, set(changed))
        style.check(event_in_context(event, profile=writer.profile, recipe=recipe) for event in events)
        return tuple(events)

    return await ask_structured(
        writer.model,
        prompt=prompt,
        reply=_reply_schema(changed, most=1 if whole else len(changed)),
        convert=convert,
        sample=sample,
        settings=recipe.asking,
    )


async def _pass_event_gates(writer: EventWriter) -> None:
    story = [event.attempt for event in writer.events]
    days = [event.draft.day for event in writer.events]
    gated: list[list[tuple[Gate[StoryText], GateAttempt]]] = []
    for position, event in enumerate(writer.events):
        # Each event is a source of its own: a judge sees the whole story anyway.
        gate = event_gate(writer, event.period, event.draft, subject=StoryText(story, position, days))
        gated.append([(gate, event.attempt)])
    await pass_gates(gated, partial(read_story, writer), size=texts_per_call(writer.recipe), recipe=writer.recipe)


def event_gate(writer: EventWriter, period: TrajectoryPeriod, event: Event, *, subject: StoryText) -> Gate[StoryText]:
    """Return the gate of an event, out of which judges have to read its new values, and nothing else but what is as before."""
    new = period.values_of(event.states)
    subject = replace(subject, may_tell=without(period.state, period.changed))

    async def refine(text: str, reading: dict[str, str], sample: int) -> str:
        changes = changes_in_prompt(period, writer.schema)
        prompt = load_prompt("events/refine").render(
            **writer.in_prompt(period),
            state_changes=select_values(changes, event.states),
            event=text,
            reading=reading,
        )

        def in_context(text: str) -> TextInContext:
            rewritten = event.model_copy(update={"text": text})
            return event_in_context(rewritten, profile=writer.profile, recipe=writer.recipe)

        return await rewrite_text(
            prompt, "event", in_context, noun="Event", sample=sample, recipe=writer.recipe, model=writer.model
        )

    async def redraft(number: int) -> str:
        (drafted,) = await _draft(writer, period, event.states, sample=number, whole=True)
        return drafted.text

    return Gate("event", new, subject, refine, redraft, lambda: show_draft(_event_set(writer, to=period)))


def event_in_context(event: Event, *, profile: UserProfile, recipe: AMemGymRecipe) -> TextInContext:
    """Return an event as the style check sees it."""
    return TextInContext(
        "event",
        event.text,
        recipe.language,
        name=profile.name,
        variables=event.states,
        day=event.day,
        roles=profile.cast.names_by_role,
        rooms=profile.cast.rooms,
    )


def _reply_schema(changed: Collection[str], *, most: int) -> ReplySchema[dict[str, list[dict[str, Any]]]]:
    """Return the paper's keys: events, each with the changes that it explains."""
    # Sorted, so that equal requests are equal bytes and are found in the reply cache.
    # Without an end a small model names one change for ever.
    states = list_of(enum_of(sorted(changed)), max_items=len(changed))
    event = object_of({"states": states, "event": PROSE})
    return ReplySchema(object_of({"events": list_of(event, max_items=most)}))


def day_of_event(states: Collection[str], period: TrajectoryPeriod) -> date | None:
    """Return the day that an event's changes share. Raises ValueError, with a sentence for the model, where they do not."""
    days = {period.days[name] for name in states}
    if len(days) > 1:
        raise ValueError(f"{sorted(states)} change on different days, so they cannot share an event; write one for each day.")
    return days.pop()


def check_causes(caused: list[str], changed: set[str]) -> None:
    """Raise ValueError unless the events cause every change once."""
    missing = sorted(changed - set(caused))
    repeated = duplicates(caused)
    if missing or repeated:
        raise ValueError(f"Every change needs exactly one event; without event: {missing}, in several: {repeated}.")


EVENTS = Stage(
    name="events",
    record=EventSet,
    make=elaborate_events,
    begins_with={STATE_TRAJECTORY.name: draft_events},
    needs=(USER_PROFILES, STATE_SCHEMA, STATE_TRAJECTORY),
    prompts=("events/elaborate", "events/refine", "state_trajectory/check"),
    calls={
        "events/elaborate": PromptCalls(calls_for_changes),
        "events/refine": PromptCalls(attrgetter("num_periods"), always=False),
    },
    version=6,
    description=AssetDescription(
        group="texts",
        description="What happened in the user's life that caused each period's changes (paper section 3.1, App. C.3). Every "
        "update belongs to exactly one event, which judges read back, and no event touches an unchanged state.",
        rows=preview_rows("periods.events", "period=index day states event=text"),
    ),
)
