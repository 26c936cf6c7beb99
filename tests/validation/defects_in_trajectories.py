"""Defects in state trajectories, their events and the session queries that tell them."""

from collections.abc import Callable, Mapping
from datetime import date, datetime, time
from typing import Any

from assets.amemgym.records.state import Event, StateUpdate
from assets.amemgym.state_trajectory.value_ranges import FEWEST_VALUES, value_ranges
from tests.validation import defects
from tests.validation.clean_set import clean_set
from tests.validation.defects import Defect, Spoil, at, changed, doubled, edited, lacking, later, swapped
from tests.validation.defects_in_texts import ANYWHERE, IN_QUERIES, faulty, plain_prose

NOTHING = Event(states=("weather",), text="It rained.")


def quadrupled(rows: list[Any]) -> list[Any]:
    """The changes of a period four times over."""
    return changed("periods", 1, "updates", to=lambda updates: updates * 4)(rows)


def place_of(rows: list[Any], period: int, kind: str, number: int = 0) -> int:
    """Where the period has its session of the kind with this number."""
    return [place for place, session in enumerate(rows[0].periods[period].sessions) if session.kind == kind][number]


def telling(period: int, **fields: object) -> Spoil:
    """Replaces fields of the period's first session that is no noise."""
    return lambda rows: at("periods", period, "sessions", place_of(rows, period, "tells"), **fields)(rows)


def first_noise(rows: list[Any]) -> tuple[int, Any]:
    """The number of the first period of which a session mentions what does not hold, and the session."""
    found = ((period.index, session) for period in rows[0].periods for session in period.sessions if session.mentions)
    return next(found)


def mentioned_is_so(rows: list[Any]) -> list[Any]:
    """What a session of noise says of somebody else holds of the user."""
    period, session = first_noise(rows)
    state = clean_set().rows("state_trajectory")[0].periods[period].state
    mentions = {name: state[name] for name in session.mentions}
    return at("periods", period, "sessions", place_of(rows, period, session.kind), mentions=mentions)(rows)


def mentioned_changes(rows: list[Any]) -> list[Any]:
    """A session of noise speaks of what changes in its period."""
    name = clean_set().rows("state_trajectory")[0].periods[1].updates[0].variable
    place = next(place for place, session in enumerate(rows[0].periods[1].sessions) if session.is_noise)
    return at("periods", 1, "sessions", place, kind="of_another", exposed_states={}, mentions={name: "x"})(rows)


def without_noise(rows: list[Any]) -> list[Any]:
    """No session of noise is left."""
    spoil = [
        changed("periods", period, "sessions", to=lambda own: tuple(session for session in own if not session.is_noise))
        for period in range(len(rows[0].periods))
    ]
    for one in spoil:
        rows = one(rows)
    return rows


def exposed_again(rows: list[Any]) -> list[Any]:
    """The second session of a period that tells something exposes what the first did."""
    first, second = place_of(rows, 1, "tells"), place_of(rows, 1, "tells", 1)
    return at("periods", 1, "sessions", second, exposed_states=rows[0].periods[1].sessions[first].exposed_states)(rows)


def told_in_first(rows: list[Any], change: Callable[[dict[str, str]], dict[str, str]]) -> list[Any]:
    """The first session of period 1 that tells something exposes something else."""
    place = place_of(rows, 1, "tells")
    return changed("periods", 1, "sessions", place, "exposed_states", to=change)(rows)


def untold(period: int) -> Spoil:
    """The period's first session that tells something gone."""
    return lambda rows: changed(
        "periods",
        period,
        "sessions",
        to=lambda own: tuple(one for one in own if one is not own[place_of(rows, period, "tells")]),
    )(rows)


def named(rows: list[Any]) -> list[Any]:
    """A query has its user's name."""
    name = clean_set().rows("user_profiles")[0].name
    return at("periods", 0, "sessions", 0, query=f"What should {name} do with so much time this week?")(rows)


def back_and_forth(rows: list[Any]) -> list[Any]:
    """A variable with three values changes in the first period, and back in the next."""
    first = rows[0].periods[0].state
    ranges = value_ranges(clean_set().rows("state_schema")[0], first, recipe=clean_set().recipe)
    name = next(name for name, values in ranges.items() if len(values) > FEWEST_VALUES)
    update = StateUpdate(variable=name, old=first[name], new=ranges[name][1])
    there = at("periods", 1, updates=(update,))(rows)
    return at("periods", 2, updates=(StateUpdate(variable=name, old=update.new, new=update.old),))(there)


def before_its_event(rows: list[Any]) -> list[Any]:
    """The first session that tells of an event comes on the first day of its period."""
    start = clean_set().rows("state_trajectory")[0].periods[1].start
    return telling(1, session_time=datetime.combine(start, time(9)))(rows)


def misnamed(rows: list[Any]) -> list[Any]:
    """A query calls somebody of the cast by another name."""
    role = next(iter(clean_set().rows("user_profiles")[0].cast.names_by_role))
    return at("periods", 0, "sessions", 0, query=f"What could I cook for my {role} Zenobia this week?")(rows)


def spelled(rows: list[Any]) -> list[Any]:
    """The first query that tells something spells its value."""
    place = place_of(rows, 0, "tells")
    value = next(iter(rows[0].periods[0].sessions[place].exposed_states.values())).replace("_", " ")
    return at("periods", 0, "sessions", place, query=f"You should know that it is {value}.")(rows)


IN_TRAJECTORIES: Mapping[str, tuple[Defect, ...]] = {
    "stage state_trajectory": (
        Defect(
            "a broken chain of states", "states_follow", changed("periods", 2, "state", to=defects.other_value), "not follow"
        ),
        Defect("a change from another value", "states_follow", at("periods", 1, "updates", 0, old="x"), "which it was not"),
        Defect(
            "a change to the same value",
            "states_follow",
            edited("periods", 1, "updates", 0, edit=lambda u: {"new": u.old}),
            "same value",
        ),
        Defect("a gap between periods", "states_follow", at("periods", 1, start=date(2020, 11, 1)), "does not begin where"),
        Defect("a summary that nobody read", "summaries_passed_gate", at(gate_records=()), "has 0 accepting votes"),
        *plain_prose(lambda text: at("periods", 1, summary=text)),
        Defect("an illegal value", "legal_states", changed("periods", 0, "state", to=defects.other_value), "'on the moon'"),
        Defect(
            "a state without a variable",
            "legal_states",
            changed("periods", 0, "state", to=lambda s: dict(list(s.items())[1:])),
            "lacks",
        ),
        Defect(
            "a state with an orphan",
            "legal_states",
            changed("periods", 0, "state", to=lambda s: {**s, "orphan": "a"}),
            "['orphan']",
        ),
        Defect(
            "a change on another day than its own",
            "days_of_changes",
            at("periods", 1, "updates", 0, day=date(1999, 9, 9)),
            "changes on 1999-09-09 in period 1",
        ),
        Defect("another start date", "period_dates", at("periods", 0, end=date(2020, 9, 30)), "not begin on the start date"),
        Defect("a missing period", "period_dates", changed("periods", to=lambda p: p[:-1]), "has 4 periods"),
        Defect("a period of another length", "period_dates", at("periods", 2, end=date(2021, 5, 1)), "period 2 has the dates"),
        Defect(
            "a period in which little happens", "changes_per_period", at("periods", 1, updates=()), "period 1 has 0 updates"
        ),
        Defect("a variable that changes all the time", "changes_per_variable", quadrupled, "times"),
        Defect("a variable that never changes", "every_variable_moves", edited(edit=defects.frozen), "never changes"),
        Defect("a value taken up again at once", "no_ping_pong", back_and_forth, "returns to it in period 2"),
        Defect("one value all the time", "balanced_values", edited(edit=defects.frozen), "evenness of 0.00"),
    ),
    "file state_trajectory": (
        Defect(
            "a snapshot with a broken chain", "reader", changed("periods", 2, "state", to=defects.other_value), "not follow"
        ),
    ),
    "stage events": (
        Defect("a period without events", "events_per_period", at("periods", 0, events=()), "period 1 has no event"),
        Defect(
            "events of a missing period",
            "events_per_period",
            changed("periods", to=lambda p: p[:-1]),
            "for the periods [1, 2, 3]",
        ),
        Defect(
            "an event for an unchanged state",
            "events_cause_updates",
            changed("periods", 0, "events", to=lambda e: (*e, NOTHING)),
            "['weather'], which did not change",
        ),
        Defect("a change without an event", "events_cause_updates", lacking("periods", 0, "events"), "without an event"),
        Defect("two events for one change", "events_cause_updates", doubled("periods", 0, "events"), "has two events for"),
        Defect(
            "an event on another day than its updates",
            "events_on_their_day",
            at("periods", 0, "events", 0, day=date(1999, 9, 9)),
            "is of 1999-09-09, and",
        ),
        Defect("an event that nobody read", "events_passed_gate", at(gate_records=()), "has 0 accepting votes"),
        *plain_prose(lambda text: at("periods", 0, "events", 0, text=text)),
        Defect("an event that happens twice", "events_differ", doubled("periods", 0, "events"), "2 events read"),
    ),
    "stage session_queries": (
        Defect(
            "a first query that tells everything",
            "few_states_each",
            telling(0, exposed_states=dict.fromkeys("abcd", "x")),
            "exposes 4 states",
        ),
        Defect("a session after its period", "inside_period", later("periods", 1, "sessions", 0, days=200), "outside period 1"),
        Defect(
            "a session before its period", "inside_period", later("periods", 1, "sessions", 0, days=-200), "outside period 1"
        ),
        Defect("a first session long ago", "inside_period", later("periods", 0, "sessions", 0, days=-60), "outside period 0"),
        Defect("sessions out of order", "times_increase", swapped("periods", 0, "sessions"), "strictly increasing order"),
        Defect("a value exposed twice", "times_increase", exposed_again, "more than one session"),
        Defect(
            "a wrong value exposed",
            "exposes_what_is_new",
            lambda rows: told_in_first(rows, defects.other_value),
            "as 'on the moon'",
        ),
        Defect(
            "a query that exposes a second variable",
            "exposes_what_is_new",
            lambda rows: told_in_first(rows, lambda s: {**s, "weather": "rain"}),
            "exposes 'weather'",
        ),
        Defect("a change that no session tells", "exposes_what_is_new", untold(1), "as None"),
        Defect("a part of the first state untold", "exposes_what_is_new", untold(0), "as None"),
        Defect("an event without its session", "tells_the_events", untold(1), "no session for the events"),
        Defect(
            "a session of another event",
            "tells_the_events",
            telling(1, event="It rained."),
            "for none of its events",
        ),
        Defect(
            "a first session with an event",
            "tells_the_events",
            telling(0, event="It rained."),
            "has the event 'It rained.'",
        ),
        Defect(
            "a query changed after its gate",
            "queries_passed_gate",
            at("periods", 0, "sessions", 0, query="Hello?"),
            "has 0 accepting votes",
        ),
        Defect("a gate never passed", "queries_passed_gate", at(gate_records=()), "has 0 accepting votes"),
        Defect("a copied value", "no_copied_value", spelled, "has all words of"),
        Defect("noise that tells what is so", "noise_tells_nothing_new", mentioned_is_so, "as what does not hold, and it does"),
        Defect("noise on what changes", "noise_tells_nothing_new", mentioned_changes, "which change in that period"),
        Defect("no noise", "noise_tells_nothing_new", without_noise, "has 0 sessions of noise"),
        Defect("a session before its event", "after_the_events", before_its_event, "tells of an event of"),
        Defect("a query that gives somebody another name", "own_people", misnamed, "'Zenobia', whose name is"),
        Defect(
            "an errand to an office on a Sunday",
            "own_time",
            at("periods", 0, "sessions", 0, query="I just left the office. What now?", session_time=datetime(2020, 9, 27, 9)),
            "is closed then",
        ),
        Defect("a user who speaks of the user", "not_by_name", named, "by name"),
        *faulty(ANYWHERE + IN_QUERIES, lambda text: at("periods", 0, "sessions", 0, query=text)),
        Defect(
            "two sessions with the same words", "queries_differ", doubled("periods", 1, "sessions"), "2 sessions begin with"
        ),
    ),
}
