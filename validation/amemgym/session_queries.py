"""Rules about the sessions and their first utterances."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from operator import attrgetter

from assets.amemgym.records.state import EventSet, PeriodSessions, Session, SessionSet, StateTrajectory, shared_day
from assets.amemgym.state_trajectory.days import first_day_of_sessions, period_dates
from assets.recipe.amemgym import AMemGymRecipe
from assets.reporting.plurals import counted
from assets.text.words import alike
from validation.amemgym.texts import QUERIES, text_rules
from validation.rules import AcceptingVotes, Rule, expect, invariants


def _telling(period: PeriodSessions) -> Sequence[Session]:
    """Return the sessions that are no noise."""
    return [session for session in period.sessions if not session.is_noise]


def initial_queries_expose_few_states(record: SessionSet, recipe: AMemGymRecipe) -> Iterator[str]:
    for session in record.periods[0].sessions:
        count = len(session.exposed_states)
        yield from expect(count <= recipe.max_states_per_query, f"{session.query[:60]!r} exposes {counted(count, 'state')}")


def sessions_lie_inside_their_period(record: SessionSet, recipe: AMemGymRecipe) -> Iterator[str]:
    """Sessions of a period lie between its dates; those of period 0 in the weeks before the recipe's start date.

    Its last day belongs to it until midnight: no session of the next one is on that day.
    """
    for period in record.periods:
        first = first_day_of_sessions(recipe, period.index)
        _, end = period_dates(recipe, period.index)
        for session in period.sessions:
            if not first <= session.session_time.date() <= end:
                yield f"the session of {session.session_time} lies outside period {period.index}"


def sessions_expose_what_is_new(record: SessionSet, trajectory: StateTrajectory, _: AMemGymRecipe) -> Iterator[str]:
    exposed: dict[int, dict[str, str]] = {}
    for period in record.periods:
        if period.index >= len(trajectory.periods):
            yield f"has sessions of period {period.index}, which does not exist"
        exposed[period.index] = {}
        for session in _telling(period):
            exposed[period.index].update(session.exposed_states)
    for period in trajectory.periods:
        # The initial sessions tell the whole state, later ones what changed.
        due = period.state
        if period.index:
            due = {update.variable: update.new for update in period.updates}
        told = exposed.get(period.index, {})
        for name in sorted(due.keys() | told.keys()):
            value = told.get(name)
            right = due.get(name)
            yield from expect(value == right, f"period {period.index} exposes {name!r} as {value!r}, it should be {right!r}")


def sessions_cover_the_events(record: SessionSet, events: EventSet, _: AMemGymRecipe) -> Iterator[str]:
    due: defaultdict[int, set[tuple[str, frozenset[str]]]] = defaultdict(set)
    for period in events.periods:
        due[period.index] = {(event.text, frozenset(event.states)) for event in period.events}
    for period in record.periods:
        if not period.index:
            yield from _initial_events(period.sessions)
            continue
        wanted = due[period.index]
        covered = {(session.event, frozenset(session.exposed_states)) for session in _telling(period)}
        missing = sorted([text[:60] for text, _ in wanted - covered])
        foreign = len(covered - wanted)
        yield from expect(not missing, f"period {period.index} has no session for the events {missing}")
        yield from expect(not foreign, f"period {period.index} has {counted(foreign, 'session')} for none of its events")


def sessions_follow_their_events(record: SessionSet, trajectory: StateTrajectory, _: AMemGymRecipe) -> Iterator[str]:
    """Data from elsewhere has no days of events."""
    days = {period.index: period.days for period in trajectory.periods}
    for period in record.periods:
        for session in period.sessions:
            day = shared_day(days.get(period.index, {}), session.exposed_states)
            late = session.event is None or day is None or day < session.session_time.date()
            yield from expect(late, f"the session of {session.session_time} tells of an event of {day}")


def _initial_events(sessions: Sequence[Session]) -> Iterator[str]:
    for session in sessions:
        if session.event is not None:
            yield f"an initial session has the event {session.event[:60]!r}"


def noise_tells_nothing_new(record: SessionSet, trajectory: StateTrajectory, recipe: AMemGymRecipe) -> Iterator[str]:
    """It speaks of variables that its period leaves alone, so that it is true whenever in the period it is said."""
    for period, own in zip(trajectory.periods, record.periods, strict=False):
        for session in own.sessions:
            if not session.is_noise:
                continue
            where = f"{session.query[:60]!r} of period {period.index}"
            moved = sorted((session.exposed_states | session.mentions).keys() & set(period.changed))
            yield from expect(not moved, f"{where} is noise and speaks of {moved}, which change in that period")
            holds = session.exposed_states.items() <= period.state.items()
            yield from expect(holds, f"{where} restates {session.exposed_states}, which does not hold")
            denied = not session.mentions.items() & period.state.items()
            yield from expect(denied, f"{where} mentions {session.mentions} as what does not hold, and it does")
    noise = len([session for session in record.sessions if session.is_noise])
    due = recipe.noise_share * len(record.sessions)
    yield from expect(noise >= round(due, 6), f"has {counted(noise, 'session')} of noise of {len(record.sessions)}")


def queries_passed_their_gate(record: SessionSet, recipe: AMemGymRecipe) -> Iterator[str]:
    votes = AcceptingVotes(record.gate_records)
    for session in record.sessions:
        count = votes.too_few("exposure", session.query, session.exposed_states, policy=recipe.gates)
        if count is not None:
            yield f"{session.query[:60]!r} has {counted(count, 'accepting vote')} for what it exposes"


def queries_differ(record: SessionSet, _: AMemGymRecipe) -> Iterator[str]:
    for group in alike(map(attrgetter("query"), record.sessions)):
        yield f"{len(group)} sessions begin with {group[0][:60]!r}"


RULES = (
    Rule("few_states_each", "Initial queries expose as few states as the recipe says.", initial_queries_expose_few_states),
    Rule("inside_period", "Sessions lie inside their period.", sessions_lie_inside_their_period),
    Rule("times_increase", "Sessions of a period follow each other in time, and none exposes a variable again.", invariants),
    Rule(
        "exposes_what_is_new",
        "Sessions but noise expose exactly the initial state, then exactly the updates.",
        sessions_expose_what_is_new,
        reads=("state_trajectory",),
    ),
    Rule(
        "tells_the_events",
        "Every event has its session, every later session but noise its event.",
        sessions_cover_the_events,
        reads=("events",),
    ),
    Rule(
        "after_the_events",
        "Sessions come days after the events that they tell of.",
        sessions_follow_their_events,
        reads=("state_trajectory",),
    ),
    Rule(
        "noise_tells_nothing_new",
        "Noise restates what holds or mentions what does not, and is as much as the recipe says.",
        noise_tells_nothing_new,
        reads=("state_trajectory",),
    ),
    Rule(
        "queries_passed_gate",
        "Enough judges read exactly the right values out of every query.",
        queries_passed_their_gate,
        of_votes=True,
    ),
    *text_rules("Queries", QUERIES),
    Rule("queries_differ", "No two sessions of a user begin with the same words.", queries_differ, blocking=False),
)
