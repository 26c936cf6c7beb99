"""What must hold of the sessions and their first utterances."""

from collections.abc import Iterator
from datetime import timedelta

from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.state import EventSet, Session, SessionSet, StateTrajectory
from assets.amemgym.session_queries.stage import WEEKS_BEFORE_START
from assets.amemgym.state_trajectory.stage import period_dates
from assets.llm.text import alike
from assets.reporting.plurals import counted
from validation.amemgym.texts import query_texts, text_rules
from validation.rules import AcceptingVotes, Rule, expect, invariants


def _sessions(record: SessionSet) -> Iterator[Session]:
    return (session for period in record.periods for session in period.sessions)


def initial_queries_expose_few_states(record: SessionSet, recipe: AMemGymRecipe) -> Iterator[str]:
    """An initial query exposes one state or more, as many as the recipe allows at most."""
    for session in record.periods[0].sessions:
        count = len(session.exposed_states)
        yield from expect(count <= recipe.max_states_per_query, f"{session.query[:60]!r} exposes {counted(count, 'state')}")


def sessions_lie_inside_their_period(record: SessionSet, recipe: AMemGymRecipe) -> Iterator[str]:
    """Sessions take place within their period, the initial ones in the weeks before the start date."""
    for period in record.periods:
        start, end = period_dates(recipe, period.index)
        start = start if period.index else recipe.start_date - timedelta(weeks=WEEKS_BEFORE_START)
        for session in period.sessions:
            if not start < session.session_time.date() < end:
                yield f"the session of {session.session_time} lies outside period {period.index}"


def sessions_expose_what_is_new(record: SessionSet, trajectory: StateTrajectory, _: AMemGymRecipe) -> Iterator[str]:
    """The initial sessions expose the whole state, later ones exactly the updates of their period with the new values."""
    sessions = {period.index: period.sessions for period in record.periods}
    yield from (f"has sessions of period {index}, which there is not" for index in sessions if index >= len(trajectory.periods))
    for period in trajectory.periods:
        due = {update.variable: update.new for update in period.updates} if period.index else period.state
        exposed = {name: value for one in sessions.get(period.index, ()) for name, value in one.exposed_states.items()}
        for name in sorted(due.keys() | exposed.keys()) if exposed != due else ():
            value, right = exposed.get(name), due.get(name)
            yield from expect(value == right, f"period {period.index} exposes {name!r} as {value!r}, it should be {right!r}")


def sessions_cover_the_events(record: SessionSet, events: EventSet, _: AMemGymRecipe) -> Iterator[str]:
    """Every event has its session, which exposes the states of that event; the initial sessions have none."""
    due = {period.index: {(event.text, frozenset(event.states)) for event in period.events} for period in events.periods}
    for period in record.periods:
        covered = {(one.event, frozenset(one.exposed_states)) for one in period.sessions}
        if not period.index:
            yield from (f"an initial session has the event {event[:60]!r}" for event, _ in covered if event is not None)
            continue
        wanted = due.get(period.index, set())
        missing, foreign = sorted(text[:60] for text, _ in wanted - covered), len(covered - wanted)
        yield from expect(not missing, f"period {period.index} has no session for the events {missing}")
        yield from expect(not foreign, f"period {period.index} has {counted(foreign, 'session')} for none of its events")


def queries_passed_their_gate(record: SessionSet, recipe: AMemGymRecipe) -> Iterator[str]:
    """Of the final text, as many judges as the recipe asks read exactly the values that it should expose."""
    votes = AcceptingVotes(record.gate_records)
    for session in _sessions(record):
        count = votes.too_few("exposure", session.query, session.exposed_states, policy=recipe.gates)
        if count is not None:
            yield f"{session.query[:60]!r} has {counted(count, 'accepting vote')} for what it exposes"


def queries_differ(record: SessionSet, _: AMemGymRecipe) -> Iterator[str]:
    """A user does not open two sessions with the same words."""
    for group in alike(session.query for session in _sessions(record)):
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
