"""Rules about the sessions and their first utterances."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import timedelta
from operator import attrgetter

from assets.amemgym.records.state import EventSet, Session, SessionSet, StateTrajectory
from assets.amemgym.session_queries.stage import WEEKS_BEFORE_START
from assets.amemgym.state_trajectory.stage import period_dates
from assets.recipe.amemgym import AMemGymRecipe
from assets.reporting.plurals import counted
from assets.text.words import alike
from validation.amemgym.texts import query_texts, text_rules
from validation.rules import AcceptingVotes, Rule, expect, invariants


def _sessions(record: SessionSet) -> Iterator[Session]:
    for period in record.periods:
        yield from period.sessions


def initial_queries_expose_few_states(record: SessionSet, recipe: AMemGymRecipe) -> Iterator[str]:
    for session in record.periods[0].sessions:
        count = len(session.exposed_states)
        yield from expect(count <= recipe.max_states_per_query, f"{session.query[:60]!r} exposes {counted(count, 'state')}")


def sessions_lie_inside_their_period(record: SessionSet, recipe: AMemGymRecipe) -> Iterator[str]:
    """Sessions of a period lie between its dates; those of period 0 in the weeks before the recipe's start date."""
    for period in record.periods:
        start, end = period_dates(recipe, period.index)
        # Period 0 holds the initial sessions. It ends at the start date, and the recipe gives it no beginning.
        if not period.index:
            start = recipe.start_date - timedelta(weeks=WEEKS_BEFORE_START)
        for session in period.sessions:
            if not start < session.session_time.date() < end:
                yield f"the session of {session.session_time} lies outside period {period.index}"


def sessions_expose_what_is_new(record: SessionSet, trajectory: StateTrajectory, _: AMemGymRecipe) -> Iterator[str]:
    exposed: dict[int, dict[str, str]] = {}
    for period in record.periods:
        if period.index >= len(trajectory.periods):
            yield f"has sessions of period {period.index}, which does not exist"
        exposed[period.index] = {}
        for session in period.sessions:
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
        covered = {(one.event, frozenset(one.exposed_states)) for one in period.sessions}
        missing = sorted([text[:60] for text, _ in wanted - covered])
        foreign = len(covered - wanted)
        yield from expect(not missing, f"period {period.index} has no session for the events {missing}")
        yield from expect(not foreign, f"period {period.index} has {counted(foreign, 'session')} for none of its events")


def _initial_events(sessions: Sequence[Session]) -> Iterator[str]:
    for session in sessions:
        if session.event is not None:
            yield f"an initial session has the event {session.event[:60]!r}"


def queries_passed_their_gate(record: SessionSet, recipe: AMemGymRecipe) -> Iterator[str]:
    votes = AcceptingVotes(record.gate_records)
    for session in _sessions(record):
        count = votes.too_few("exposure", session.query, session.exposed_states, policy=recipe.gates)
        if count is not None:
            yield f"{session.query[:60]!r} has {counted(count, 'accepting vote')} for what it exposes"


def queries_differ(record: SessionSet, _: AMemGymRecipe) -> Iterator[str]:
    for group in alike(map(attrgetter("query"), _sessions(record))):
        yield f"{len(group)} sessions begin with {group[0][:60]!r}"


RULES = (
    Rule("few_states_each", "Initial queries expose as few states as the recipe says.", initial_queries_expose_few_states),
    Rule("inside_period", "Sessions lie inside their period.", sessions_lie_inside_their_period),
    Rule("times_increase", "Sessions of a period follow each other in time, and none exposes a variable again.", invariants),
    Rule(
        "exposes_what_is_new",
        "Sessions expose exactly the initial state, then exactly the updates.",
        sessions_expose_what_is_new,
        reads=("state_trajectory",),
    ),
    Rule(
        "tells_the_events",
        "Every event has its session, every later session its event.",
        sessions_cover_the_events,
        reads=("events",),
    ),
    Rule(
        "queries_passed_gate",
        "Enough judges read exactly the right values out of every query.",
        queries_passed_their_gate,
        of_votes=True,
    ),
    *text_rules("Queries", "query", query_texts, reads=("user_profiles", "state_schema")),
    Rule("queries_differ", "No two sessions of a user begin with the same words.", queries_differ, blocking=False),
)
