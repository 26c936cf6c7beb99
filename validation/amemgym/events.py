"""Rules about the life events."""

from collections import Counter, defaultdict
from collections.abc import Iterator

from assets.amemgym.records.state import EventSet, StateTrajectory
from assets.recipe.amemgym import AMemGymRecipe
from assets.reporting.plurals import counted
from assets.text.words import alike
from validation.amemgym.texts import EVENTS, prose_rules
from validation.rules import AcceptingVotes, Rule, expect


def every_period_has_events(record: EventSet, recipe: AMemGymRecipe) -> Iterator[str]:
    """Each period after the first has at least one event, and none is left over."""
    indices = [period.index for period in record.periods]
    yield from expect(indices == list(range(1, recipe.num_periods + 1)), f"has events for the periods {indices}")
    for period in record.periods:
        yield from expect(bool(period.events), f"period {period.index} has no event")


def events_cause_the_updates(record: EventSet, trajectory: StateTrajectory, _: AMemGymRecipe) -> Iterator[str]:
    updates: defaultdict[int, set[str]] = defaultdict(set)
    for period in trajectory.periods:
        for update in period.updates:
            updates[period.index].add(update.variable)
    for period in record.periods:
        where = f"period {period.index}"
        changed = updates[period.index]
        causes: Counter[str] = Counter()
        for event in period.events:
            causes.update(event.states)
        unchanged = sorted(set(causes) - changed)
        unexplained = sorted(changed - set(causes))
        doubled = sorted([name for name, count in causes.items() if count > 1])
        yield from expect(not unchanged, f"{where} has an event for {unchanged}, which did not change")
        yield from expect(not unexplained, f"{where} changes {unexplained} without an event")
        yield from expect(not doubled, f"{where} has two events for {doubled}")


def events_have_the_day_of_their_updates(record: EventSet, trajectory: StateTrajectory, _: AMemGymRecipe) -> Iterator[str]:
    days = {period.index: period.days for period in trajectory.periods}
    for period in record.periods:
        for event in period.events:
            for name in event.states:
                day = days[period.index].get(name)
                yield from expect(event.day == day, f"{event.text[:60]!r} is of {event.day}, and {name} changes on {day}")


def events_passed_their_gate(record: EventSet, trajectory: StateTrajectory, recipe: AMemGymRecipe) -> Iterator[str]:
    if not recipe.gates.consistency:
        return
    votes = AcceptingVotes(record.gate_records)
    states = {period.index: period.state for period in trajectory.periods}
    for period in record.periods:
        for event in period.events:
            new = {name: states[period.index][name] for name in event.states}
            count = votes.too_few("event", event.text, new, policy=recipe.gates)
            if count is not None:
                yield f"{event.text[:60]!r} has {counted(count, 'accepting vote')} for what it causes"


def events_differ(record: EventSet, _: AMemGymRecipe) -> Iterator[str]:
    """In the few years that a trajectory covers, the same thing happens once."""
    texts: list[str] = []
    for period in record.periods:
        for event in period.events:
            texts.append(event.text)
    for group in alike(texts):
        yield f"{len(group)} events read {group[0][:80]!r}"


RULES = (
    Rule("events_per_period", "Every period has events.", every_period_has_events),
    Rule(
        "events_cause_updates",
        "Every update is caused by exactly one event, and no event is about an unchanged state.",
        events_cause_the_updates,
        reads=("state_trajectory",),
    ),
    Rule(
        "events_on_their_day",
        "Every event is of the day on which its updates come about.",
        events_have_the_day_of_their_updates,
        reads=("state_trajectory",),
    ),
    Rule(
        "events_passed_gate",
        "Enough judges read its new values out of every event, which contradict neither state, profile nor earlier events.",
        events_passed_their_gate,
        reads=("state_trajectory",),
        of_votes=True,
    ),
    *prose_rules("Events", EVENTS),
    Rule("events_differ", "No event happens twice.", events_differ, blocking=False),
)
