"""Defects in state trajectories, their events and the session queries that tell them."""

from collections.abc import Mapping
from datetime import date
from typing import Any

from assets.amemgym.records.state import Event
from tests.validation import defects
from tests.validation.clean_set import clean_set
from tests.validation.defects import Defect, Spoil, at, changed, doubled, edited, lacking, later, swapped
from tests.validation.defects_in_texts import ANYWHERE, IN_QUERIES, faulty, plain_prose

NOTHING = Event(states=("weather",), text="It rained.")


def quadrupled(rows: list[Any]) -> list[Any]:
    """The changes of a period four times over."""
    return changed("periods", 1, "updates", to=lambda updates: updates * 4)(rows)


def exposed_again(rows: list[Any]) -> list[Any]:
    """The second session of a period exposes what the first did."""
    return at("periods", 1, "sessions", 1, exposed_states=rows[0].periods[1].sessions[0].exposed_states)(rows)


def named(rows: list[Any]) -> list[Any]:
    """A query has its user's name."""
    name = clean_set().rows("user_profiles")[0].name
    return at("periods", 0, "sessions", 0, query=f"What should {name} do with so much time this week?")(rows)


def value_in_event(rows: list[Any]) -> list[Any]:
    """The first event has the new value of its first variable."""
    state = clean_set().rows("state_trajectory")[0].periods[1].state
    name = rows[0].periods[0].events[0].states[0]
    return at("periods", 0, "events", 0, text=f"Woke up to find: {state[name].replace('_', ' ')}")(rows)


def value_in_summary(rows: list[Any]) -> list[Any]:
    """A summary has the new value of the period's first update."""
    value = rows[0].periods[1].updates[0].new
    return at("periods", 1, summary=f"It came to {value.replace('_', '-').upper()}.")(rows)


def spelling(variable: int) -> Spoil:
    """The first query spells a value of the schema's variable with this number."""
    schema = clean_set().rows("state_schema")[0]
    value = schema.variables[variable].choices[0].replace("_", " ")
    return at("periods", 0, "sessions", 0, query=f"You should know that it is {value}.")


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
        Defect("a summary that names a value", "plain_prose", value_in_summary, "spells"),
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
        Defect("another start date", "period_dates", at("periods", 0, end=date(2020, 9, 30)), "not begin on the start date"),
        Defect("a missing period", "period_dates", changed("periods", to=lambda p: p[:-1]), "has 4 periods"),
        Defect("a period of another length", "period_dates", at("periods", 2, end=date(2021, 5, 1)), "period 2 has the dates"),
        Defect(
            "a period in which little happens", "changes_per_period", at("periods", 1, updates=()), "period 1 has 0 updates"
        ),
        Defect("a variable that changes all the time", "changes_per_variable", quadrupled, "times"),
        Defect("a variable that never changes", "every_variable_moves", edited(edit=defects.frozen), "never changes"),
        Defect("a value taken up again at once", "no_ping_pong", defects.back_and_forth, "returns to it in period 2"),
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
        Defect("an event that nobody read", "events_passed_gate", at(gate_records=()), "has 0 accepting votes"),
        Defect("an event that names its value", "plain_prose", value_in_event, "spells"),
        *plain_prose(lambda text: at("periods", 0, "events", 0, text=text)),
        Defect("an event that happens twice", "events_differ", doubled("periods", 0, "events"), "2 events read"),
    ),
    "stage session_queries": (
        Defect(
            "a first query that tells everything",
            "few_states_each",
            at("periods", 0, "sessions", 0, exposed_states=dict.fromkeys("abcd", "x")),
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
            changed("periods", 1, "sessions", 0, "exposed_states", to=defects.other_value),
            "as 'on the moon'",
        ),
        Defect(
            "a query that exposes a second variable",
            "exposes_what_is_new",
            changed("periods", 1, "sessions", 0, "exposed_states", to=lambda s: {**s, "weather": "rain"}),
            "exposes 'weather'",
        ),
        Defect("a change that no session tells", "exposes_what_is_new", lacking("periods", 1, "sessions"), "as None"),
        Defect("a part of the first state untold", "exposes_what_is_new", lacking("periods", 0, "sessions"), "as None"),
        Defect(
            "an event without its session", "tells_the_events", lacking("periods", 1, "sessions"), "no session for the events"
        ),
        Defect(
            "a session of another event",
            "tells_the_events",
            at("periods", 1, "sessions", 0, event="It rained."),
            "for none of its events",
        ),
        Defect(
            "a first session with an event",
            "tells_the_events",
            at("periods", 0, "sessions", 0, event="It rained."),
            "has the event 'It rained.'",
        ),
        Defect(
            "a query changed after its gate",
            "queries_passed_gate",
            at("periods", 0, "sessions", 0, query="Hello?"),
            "has 0 accepting votes",
        ),
        Defect("a gate never passed", "queries_passed_gate", at(gate_records=()), "has 0 accepting votes"),
        Defect("a leaked value", "no_copied_value", spelling(0), "spells"),
        Defect("a leaked value of another variable", "no_copied_value", spelling(-1), "spells"),
        Defect("a user who speaks of the user", "not_by_name", named, "by name"),
        *faulty(ANYWHERE + IN_QUERIES, lambda text: at("periods", 0, "sessions", 0, query=text)),
        Defect(
            "two sessions with the same words", "queries_differ", doubled("periods", 1, "sessions"), "2 sessions begin with"
        ),
    ),
}
