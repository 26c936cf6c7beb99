"""States are legal, changes are real, and periods follow one another."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.amemgym.state_trajectory.days import change_days, message_days, period_dates
from assets.engine.seeded_random import SeededRandom
from assets.records.base import ItemFailed
from tests.assets.amemgym.evolved_states import FIRST, INITIAL, RETELL, SECOND, STORY, UPDATE, evolved, moved, with_days
from tests.support import scenario
from tests.support.honest_replies import known_of_variables, material, may_become
from tests.support.scenario import CHOICES, DIET, EVENINGS, GOAL
from tests.support.small import excluding, small_recipe


def test_the_examples_replies_make_the_examples_trajectory() -> None:
    trajectory, model = evolved({INITIAL: [FIRST], UPDATE: STORY})
    assert trajectory == with_days(scenario.trajectory(), scenario.recipe())
    assert [request.labels.prompt for request in model.requests] == [INITIAL, UPDATE, UPDATE]


def test_every_period_knows_what_happened_before() -> None:
    _, model = evolved({INITIAL: [FIRST], UPDATE: STORY})
    request = model.asked(UPDATE)[1]
    state = known_of_variables(request)
    assert {name: own["now"] for name, own in state.items()} == SECOND
    assert {name: own["earlier"] for name, own in state.items()} == {DIET: [FIRST[DIET]], GOAL: [FIRST[GOAL]], EVENINGS: []}
    assert material(request, "story") == {"2021-01-01": "A warning at the clinic."}
    assert material(request, "period") == {"step": 2, "steps": 2, "from": "2021-01-01", "to": "2021-04-01"}


def test_only_values_a_variable_does_not_have_are_offered() -> None:
    _, model = evolved({INITIAL: [FIRST], UPDATE: STORY})
    offered = may_become(model.asked(UPDATE)[0])
    assert offered == {name: [choice for choice in CHOICES[name] if choice != FIRST[name]] for name in CHOICES}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({DIET: "pescatarian"}, "diet: Input should be"),
        ({DIET: None}, "diet: Input should be"),
        ({"mood": "low"}, "mood: Extra inputs are not permitted"),
    ],
    ids=["illegal value", "no value", "unknown variable"],
)
def test_an_illegal_initial_state_is_sent_back(change: dict[str, Any], told: str) -> None:
    trajectory, model = evolved({INITIAL: [{**FIRST, **change}, FIRST]})
    assert trajectory.periods[0].state == FIRST
    assert told in model.objections(INITIAL)[0]


def test_an_initial_state_must_be_whole() -> None:
    _, model = evolved({INITIAL: [{DIET: FIRST[DIET]}, FIRST]})
    assert "training_goal: Field required" in model.objections(INITIAL)[0]


def test_a_value_that_the_profile_states_is_the_only_one_on_offer_at_first() -> None:
    schema = excluding(scenario.schema()).model_copy(update={"stated": {GOAL: SECOND[GOAL]}})
    trajectory, model = evolved({INITIAL: [FIRST, {**FIRST, GOAL: SECOND[GOAL]}]}, schema=schema)
    offered = material(model.asked(INITIAL)[0], "state_schema")
    assert offered == {**schema.choices, GOAL: [SECOND[GOAL]]}
    assert "training_goal: Input should be" in model.objections(INITIAL)[0]
    assert trajectory.periods[0].state[GOAL] == SECOND[GOAL]


BAD = {
    "illegal value": (moved(**{DIET: "pescatarian"}), "updated.diet: Input should be"),
    "unchanged value": (moved(**{DIET: FIRST[DIET]}), "updated.diet: Input should be"),
    "unknown variable": (moved(mood="low"), "updated.mood: Extra inputs are not permitted"),
    "no change": (moved(), "0 variables change; let at least 1 and at most 2 change"),
    "too many changes": (
        moved(**{name: CHOICES[name][1] for name in CHOICES}),
        "3 variables change; let at least 1 and at most 2 change",
    ),
    "no summary": ({"updated": {DIET: SECOND[DIET]}}, "period_summary: Field required"),
    "empty summary": (moved(" ", **{DIET: SECOND[DIET]}), "period_summary: String should have at least 1"),
}


@pytest.mark.parametrize(("reply", "told"), BAD.values(), ids=BAD)
def test_illegal_updates_are_sent_back(reply: dict[str, Any], told: str) -> None:
    trajectory, model = evolved({INITIAL: [FIRST], UPDATE: [reply, *STORY]})
    assert trajectory == with_days(scenario.trajectory(), scenario.recipe())
    assert told in model.objections(UPDATE)[0]


def test_a_user_whose_updates_stay_illegal_is_given_up() -> None:
    with pytest.raises(ItemFailed, match="state_trajectory/update: 0 variables change"):
        evolved({UPDATE: [moved()]})


def test_of_changes_that_stay_too_many_as_many_as_may_change_are_kept_and_told_of() -> None:
    too_many = moved("Everything changed.", **{name: CHOICES[name][1] for name in CHOICES})
    recipe = scenario.recipe(num_periods=1, gates={"consistency": False, "max_reasks": 1})
    told = {"period_summary": "The clinic called."}
    trajectory, model = evolved({INITIAL: [FIRST], UPDATE: [too_many], RETELL: [told]}, recipe=recipe)
    (period,) = trajectory.periods[1:]
    assert (len(period.updates), period.summary) == (2, "The clinic called.")
    assert len(model.asked(UPDATE)) == 2
    # What was told of all three is not shown: one of them did not happen.
    assert "Everything changed" not in model.asked(RETELL)[0].messages[-1].content


def test_a_summary_with_a_fault_is_told_anew_and_the_changes_stay() -> None:
    faulty = moved("She settled on [her new goal].", **{GOAL: SECOND[GOAL], DIET: SECOND[DIET]})
    told = {"period_summary": "A warning at the clinic."}
    trajectory, model = evolved({INITIAL: [FIRST], UPDATE: [faulty, STORY[1]], RETELL: [told]})
    assert trajectory == with_days(scenario.trajectory(), scenario.recipe())
    assert len(model.asked(UPDATE)) == 2
    assert model.objections(UPDATE) == []


@given(st.dates(date(1990, 1, 1), date(2090, 1, 1)), st.integers(1, 24), st.integers(1, 30))
def test_the_dates_of_periods_chain(start: date, months: int, index: int) -> None:
    recipe = small_recipe(start_date=start, num_months_per_period=months)
    assert period_dates(recipe, 1)[0] == start
    first, end = period_dates(recipe, index)
    assert end == period_dates(recipe, index + 1)[0]
    assert (end.year * 12 + end.month) - (first.year * 12 + first.month) == months


def test_a_period_from_the_last_of_a_month_ends_in_the_right_month() -> None:
    recipe = small_recipe(start_date=date(2020, 11, 30), num_months_per_period=3)
    assert [period_dates(recipe, index)[1] for index in (1, 2)] == [date(2021, 2, 28), date(2021, 5, 30)]


@given(st.dates(date(1990, 1, 1), date(2090, 1, 1)), st.integers(1, 24), st.integers(1, 20), st.integers())
def test_changes_and_the_messages_about_them_lie_inside_their_period_in_this_order(
    start: date, months: int, index: int, seed: int
) -> None:
    recipe = small_recipe(start_date=start, num_months_per_period=months, seed=abs(seed) % 1000)
    first, end = period_dates(recipe, index)
    days = change_days(scenario.schema(), recipe, index)
    assert days[DIET] == days[GOAL]  # one question needs both, so that one event may change both
    assert all(day.strftime("%A") != "Sunday" for day in days.values())
    told = sorted(days.values())
    written = message_days(told, end=end, rng=SeededRandom(seed))
    assert first < told[0]
    assert written[-1] < end
    assert written == sorted(written)
    assert all(2 <= (message - event).days <= 10 for event, message in zip(told, written, strict=True))
