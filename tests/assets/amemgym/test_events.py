"""Every update is caused by exactly one event, and nothing else is."""

import json
from collections.abc import Coroutine
from datetime import date
from typing import Any

import pytest

from assets.amemgym.events import elaborate_events
from assets.amemgym.records.state import Event, EventSet, StateTrajectory, StateUpdate
from assets.llm.ports import ModelRequest
from assets.records.base import ItemFailed
from assets.text.text_checks import TextInContext, blocking_faults
from prompts.catalogue import load_prompt
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import honest, material
from tests.support.scenario import DIET, EVENINGS, GOAL
from tests.support.scripted_model import Reply, ScriptedModel

PROMPT = "events/elaborate"
BOTH = {"states": [GOAL, DIET], "event": scenario.HEART_SCARE}


def elaborated(*first: Reply) -> tuple[EventSet, ScriptedModel]:
    """The events of the example; the first period's replies come in turn, the second period's is right."""
    left = list(first)

    def answer(request: ModelRequest) -> object:
        return honest(request) if material(request, "period")["to"] == "2021-04-01" else left.pop(0)

    model = ScriptedModel({PROMPT: [answer]})
    return run(made_with(model)), model


def made_with(model: ScriptedModel, **changes: object) -> Coroutine[Any, Any, EventSet]:
    parts = (scenario.profile(), scenario.schema(), scenario.trajectory())
    return elaborate_events(*parts, recipe=scenario.recipe(gates={"consistency": False}, **changes), model=model)


def events(*pairs: tuple[list[str], str]) -> dict[str, Any]:
    return {"events": [{"states": states, "event": text} for states, text in pairs]}


def test_one_event_may_cause_several_updates() -> None:
    record, model = elaborated({"events": [BOTH]})
    assert [period.index for period in record.periods] == [1, 2]
    assert record.periods[0].events == (Event(states=(GOAL, DIET), text=scenario.HEART_SCARE),)
    assert record.periods[1].events[0].states == (EVENINGS,)
    assert len(model.requests) == 2


def test_the_model_sees_what_changed_and_what_did_not() -> None:
    _, model = elaborated({"events": [BOTH]})
    assert material(model.requests[0], "unchanged_states") == {EVENINGS: "{none}"}
    changes = material(model.requests[0], "state_changes")
    assert {name: (change["old"], change["new"]) for name, change in changes.items()} == {
        DIET: ("eats everything", "vegetarian"),
        GOAL: ("first 5 km", "half-marathon (21,1 km)"),
    }


BAD = {
    "update without event": (events(([DIET], "A talk.")), "without event: ['training_goal']"),
    "event for an unchanged state": (
        events(([DIET, EVENINGS], "A talk.")),
        "events.0.states.1: Input should be 'diet' or",
    ),
    "event for an unknown variable": (
        events(([DIET, "mood"], "A talk.")),
        "events.0.states.1: Input should be 'diet' or",
    ),
    "more changes than there are": (events(([DIET, GOAL, DIET], "A talk.")), "events.0.states: List should have at most 2"),
    "update with two events": (events(([DIET, GOAL], "A talk."), ([GOAL], "A race.")), "in several: ['training_goal']"),
    "event that only names what changed": (
        events(([DIET, GOAL], "The training goal became another one after a talk with the coach.")),
        "only says that ['training_goal'] changed; tell what happened",
    ),
    "event of nothing": (events(([DIET, GOAL], "A talk."), ([], "Rain.")), "events.1.states: List should have at least 1"),
    "event without words": (events(([DIET, GOAL], " ")), "events.0.event: String should have at least 1"),
}


@pytest.mark.parametrize(("reply", "sentence"), BAD.values(), ids=BAD)
def test_events_that_do_not_account_for_the_updates_are_sent_back(reply: dict[str, Any], sentence: str) -> None:
    record, model = elaborated(reply, {"events": [BOTH]})
    assert len(record.periods[0].events) == 1
    assert [sentence in objection for objection in model.objections(PROMPT)] == [True]


def test_a_change_named_twice_in_one_event_counts_once() -> None:
    record, model = elaborated(events(([DIET, DIET], "A talk."), ([GOAL], "A race.")))
    assert [event.states for event in record.periods[0].events] == [(DIET,), (GOAL,)]
    assert model.objections(PROMPT) == []


def test_of_two_failing_periods_the_first_is_told() -> None:
    model = ScriptedModel({PROMPT: [events(([DIET], "A talk."))]})
    with pytest.raises(ItemFailed, match=r"events/elaborate: events\.0\.states\.0: Input should be 'training_goal'"):
        run(made_with(model))


def test_changes_that_a_writer_cannot_tell_in_one_call_are_told_one_by_one() -> None:
    def one_only(request: ModelRequest) -> object:
        first, *_ = material(request, "state_changes")
        return {"events": [{"states": [first], "event": "A long talk with a neighbour."}]}

    model = ScriptedModel({PROMPT: [one_only]})
    record = run(made_with(model))
    assert sorted(name for event in record.periods[0].events for name in event.states) == sorted([DIET, GOAL])


def talk(request: ModelRequest) -> object:
    return {"events": [{"states": list(material(request, "state_changes")), "event": "A long talk with a neighbour."}]}


def talked_of(request: ModelRequest) -> list[str]:
    return list(material(request, "state_changes"))


def test_an_event_of_several_that_stays_wrong_is_written_by_itself() -> None:
    wrong = events(([GOAL], "Now it is [her new goal]."), ([DIET], "The doctor called."))

    def answer(request: ModelRequest) -> object:
        return wrong if len(material(request, "state_changes")) == 2 else talk(request)

    model = ScriptedModel({PROMPT: [answer]})
    first = run(made_with(model)).periods[0]
    assert [event.text for event in first.events] == ["A long talk with a neighbour.", "The doctor called."]
    # Both go back once with the objection; then only the one at fault is asked for.
    assert [sorted(talked_of(request)) for request in model.requests if talked_of(request) != [EVENINGS]] == [
        sorted([DIET, GOAL]),
        sorted([DIET, GOAL]),
        [GOAL],
    ]


def test_an_event_says_a_value_as_people_do() -> None:
    told = events(([GOAL], "She settled on a half-marathon (21,1 km)."), ([DIET], "The doctor called."))
    model = ScriptedModel({PROMPT: [told, honest]})
    assert next(event.text for event in run(made_with(model)).periods[0].events) == "She settled on a half-marathon (21,1 km)."
    assert model.objections(PROMPT) == []


def test_where_the_recipe_wants_one_value_in_a_query_each_change_has_its_own_event() -> None:
    model = ScriptedModel({PROMPT: [talk]})
    record = run(made_with(model, max_states_per_query=1))
    assert [event.states for period in record.periods for event in period.events] == [(DIET,), (GOAL,), (EVENINGS,)]
    assert [talked_of(request) for request in model.requests] == [[DIET], [GOAL], [EVENINGS]]


def on_days(first: date, second: date) -> StateTrajectory:
    """The example's life, whose first period changes the diet on one day and the goal on another."""
    made = scenario.trajectory()
    start, changed, last = made.periods
    days = {DIET: first, GOAL: second}
    updates = tuple(update.model_copy(update={"day": days[update.variable]}) for update in changed.updates)
    return made.model_copy(update={"periods": (start, changed.model_copy(update={"updates": updates}), last)})


def made_on(trajectory: StateTrajectory, *first: Reply) -> tuple[EventSet, ScriptedModel]:
    left = list(first)

    def answer(request: ModelRequest) -> object:
        return honest(request) if material(request, "period")["to"] == "2021-04-01" else left.pop(0)

    model = ScriptedModel({PROMPT: [answer]})
    recipe = scenario.recipe(gates={"consistency": False})
    made = elaborate_events(scenario.profile(), scenario.schema(), trajectory, recipe=recipe, model=model)
    return run(made), model


def test_changes_of_different_days_share_no_event_and_events_come_in_order_of_their_days() -> None:
    trajectory = on_days(date(2020, 12, 1), date(2020, 11, 5))
    apart = events(([DIET], "A talk."), ([GOAL], "A race."))
    record, model = made_on(trajectory, {"events": [BOTH]}, apart)
    assert "change on different days, so they cannot share an event" in model.objections(PROMPT)[0]
    assert [(event.states, event.day) for event in record.periods[0].events] == [
        ((GOAL,), date(2020, 11, 5)),
        ((DIET,), date(2020, 12, 1)),
    ]


def test_a_period_sees_what_was_before_and_nothing_that_lies_ahead() -> None:
    day = date(2020, 11, 5)
    _, model = made_on(on_days(day, day), {"events": [BOTH]})
    first, second = model.asked(PROMPT)
    assert "<story>" not in first.messages[-1].content
    assert "Shifts change" not in first.messages[-1].content
    assert material(second, "story") == {"2021-01-01": "A warning at the clinic."}
    assert "<earlier_events>" not in second.messages[-1].content


def test_a_change_of_a_variable_follows_from_the_event_that_changed_it_before() -> None:
    trajectory = on_days(date(2020, 11, 5), date(2020, 12, 1))
    *before, last = trajectory.periods
    back = StateUpdate(variable=DIET, old=last.state[DIET], new=before[0].state[DIET])
    last = last.model_copy(update={"updates": (back,), "state": {**before[-1].state, DIET: back.new}})
    trajectory = StateTrajectory(user_id=trajectory.user_id, periods=(*before, last))
    _, model = made_on(trajectory, events(([DIET], "A talk."), ([GOAL], "A race.")))
    assert material(model.asked(PROMPT)[1], "earlier_events") == ["2020-11-05, Thursday: A talk."]


def test_the_examples_of_the_prompt_obey_its_rules() -> None:
    *turns, _ = load_prompt(PROMPT).parts[1:]
    for asked, replied in zip(turns[::2], turns[1::2], strict=True):
        changes = json.loads(asked.text.partition("<state_changes>")[2].partition("</state_changes>")[0])
        told = json.loads(replied.text)["events"]
        assert sorted(name for event in told for name in event["states"]) == sorted(changes)
        for event in told:
            (day,) = {changes[name]["day"] for name in event["states"]}
            text = TextInContext("event", event["event"], "en", variables=event["states"], day=date.fromisoformat(day[:10]))
            assert blocking_faults(text) == []
            assert 15 <= len(event["event"].split()) <= 45
