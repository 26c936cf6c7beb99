"""Queries reveal every value once and become sessions of their period."""

import pytest

from assets.amemgym.records.state import Event, EventSet, PeriodEvents
from tests.assets.amemgym.session_sets import EVENTS, FIRST, INITIAL, UPDATE, part, queries, written
from tests.support import scenario
from tests.support.honest_replies import honest, material
from tests.support.scenario import DIET, EVENINGS, GOAL
from tests.support.scripted_model import Reply


def test_all_states_are_revealed_at_first_and_then_every_update_by_its_event() -> None:
    record, model = written({INITIAL: [queries(part(GOAL, DIET), part(EVENINGS))]})
    assert [[session.exposed_states for session in period.sessions] for period in record.periods] == [
        [part(GOAL, DIET), part(EVENINGS)],
        [{GOAL: "half-marathon (21,1 km)", DIET: "vegetarian"}],
        [{EVENINGS: "Tue | Thu"}],
    ]
    assert [session.event for period in record.periods for session in period.sessions] == [
        None,
        None,
        scenario.HEART_SCARE,
        "Tuesdays off.",
    ]
    assert (len(model.asked(INITIAL)), len(model.asked(UPDATE))) == (1, 2)
    assert [(one.item_id, one.accepted) for one in record.gate_records] == [
        ("s00-01", True),
        ("s00-02", True),
        ("s01-01", True),
        ("s02-01", True),
    ]


BAD = {
    "state not covered": (queries(part(GOAL, DIET)), "missing: ['evenings {free}']"),
    "unknown variable": (
        queries(part(GOAL, DIET, EVENINGS), {"mood": "low"}),
        "exposed_states.mood: Extra inputs are not permitted",
    ),
    "value of another time": (
        queries(part(GOAL, EVENINGS), {DIET: "vegetarian"}),
        "queries.1.exposed_states.diet: Input should be 'eats everything'",
    ),
    "no state": (queries(part(GOAL, DIET, EVENINGS), {}), "one to 3 values, not [3, 0]"),
    "no words": ({"queries": [{"exposed_states": FIRST, "query": ""}]}, "queries.0.query: String should have at least 1"),
}


@pytest.mark.parametrize(("reply", "told"), BAD.values(), ids=BAD)
def test_initial_queries_that_do_not_reveal_each_state_once_are_sent_back(reply: Reply, told: str) -> None:
    record, model = written({INITIAL: [reply, queries(FIRST)]})
    assert len(record.periods[0].sessions) == 1
    assert told in model.objections(INITIAL)[0]


@pytest.mark.parametrize(("most", "groups"), [(1, [(DIET,), (GOAL,), (EVENINGS,)]), (2, [(DIET, GOAL), (EVENINGS,)])])
def test_where_the_recipe_wants_fewer_values_in_a_query_each_group_is_asked_for_by_itself(
    most: int, groups: list[tuple[str, ...]]
) -> None:
    record, model = written({INITIAL: [queries(part(*names)) for names in groups]}, states_per_query=most)
    assert [session.exposed_states for session in record.periods[0].sessions] == [part(*names) for names in groups]
    asked = [material(request, "initial_state") for request in model.asked(INITIAL)]
    assert [set(values) for values in asked] == [set(names) for names in groups]


def test_a_value_that_is_told_twice_counts_for_the_query_that_tells_it_first() -> None:
    record, model = written({INITIAL: [queries(part(GOAL, DIET), part(DIET), part(EVENINGS, DIET))]})
    exposed = [session.exposed_states for session in record.periods[0].sessions]
    assert sorted(exposed, key=len) == [part(EVENINGS), part(GOAL, DIET)]
    assert len(model.asked(INITIAL)) == 1


@pytest.mark.parametrize("number", [0, 2])
def test_there_is_one_query_for_each_event(number: int) -> None:
    good = [honest, honest]
    record, model = written({UPDATE: [{"queries": ["{}"] * number}, *good]})
    assert [len(period.sessions) for period in record.periods] == [1, 1, 1]
    assert "queries: List should have at " in model.objections(UPDATE)[0]


def test_where_the_recipe_wants_fewer_values_in_a_query_each_event_is_told_by_itself() -> None:
    apart = EventSet(
        user_id=scenario.USER_ID,
        periods=(
            PeriodEvents(
                index=1, events=(Event(states=(GOAL,), text="The coach called."), Event(states=(DIET,), text="A talk."))
            ),
            EVENTS.periods[1],
        ),
    )
    _, together = written({}, events=apart)
    record, alone = written({INITIAL: [queries(part(one)) for one in (DIET, GOAL, EVENINGS)]}, events=apart, states_per_query=1)
    assert [len(material(request, "context")) for request in together.asked(UPDATE)] == [2, 1]
    assert [len(material(request, "context")) for request in alone.asked(UPDATE)] == [1, 1, 1]
    assert [session.exposed_states for session in record.periods[1].sessions] == [
        {GOAL: "half-marathon (21,1 km)"},
        {DIET: "vegetarian"},
    ]
