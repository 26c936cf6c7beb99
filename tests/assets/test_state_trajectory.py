"""States are legal, changes are real, few enough per variable, and leave room for the periods to come."""

import random
import re
from collections import Counter
from datetime import date
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from assets.ports import ModelRequest
from assets.records.failure import UserFailed
from assets.records.recipe import GatePolicy, Recipe
from assets.records.schema import StateSchema
from assets.records.trajectory import StateTrajectory
from assets.state_trajectory import evolve_state, period_dates
from tests import scenario
from tests.scenario import CHOICES, DIET, EVENINGS, GOAL
from tests.support import Reply, Script, ScriptedModel, material, run, schema_of, small_recipe, update

INITIAL, UPDATE = "state_trajectory/initial", "state_trajectory/update"


def evolved(
    script: Script, *, recipe: Recipe | None = None, schema: StateSchema | None = None
) -> tuple[StateTrajectory, ScriptedModel]:
    model = ScriptedModel(script)
    made = evolve_state(scenario.profile(), schema or scenario.schema(), recipe=recipe or scenario.recipe(), model=model)
    return run(made), model


def moved(summary: str = "So it went.", **updated: str) -> dict[str, Any]:
    return {"period_summary": summary, "updated": updated}


FIRST, SECOND, THIRD = scenario.STATES
STORY: list[Reply] = [
    moved("A warning at the clinic.", **{GOAL: SECOND[GOAL], DIET: SECOND[DIET]}),
    moved("Shifts change; “Tue | Thu” are hers.", **{EVENINGS: THIRD[EVENINGS]}),
]


def test_the_examples_replies_make_the_examples_trajectory() -> None:
    trajectory, model = evolved({INITIAL: [FIRST], UPDATE: STORY})
    assert trajectory == scenario.trajectory()
    assert [request.labels.prompt for request in model.requests] == [INITIAL, UPDATE, UPDATE]


def test_every_period_knows_what_happened_before() -> None:
    _, model = evolved({INITIAL: [FIRST], UPDATE: STORY})
    request = model.asked(UPDATE)[1]
    assert material(request, "current_state") == SECOND
    assert material(request, "prior_updates") == [{DIET: SECOND[DIET], GOAL: SECOND[GOAL]}]
    assert material(request, "update_counts") == {DIET: 1, GOAL: 1, EVENINGS: 0}
    assert material(request, "period") == {"step": 2, "steps": 2, "from": "2021-01-01", "to": "2021-04-01"}


def test_only_values_a_variable_does_not_have_are_offered() -> None:
    _, model = evolved({INITIAL: [FIRST], UPDATE: STORY})
    offered = material(model.asked(UPDATE)[0], "state_schema")
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
    assert trajectory == scenario.trajectory()
    assert told in model.objections(UPDATE)[0]


def test_a_variable_that_has_changed_often_enough_is_no_longer_offered() -> None:
    recipe = scenario.recipe(max_changes_per_state=1)
    _, model = evolved({INITIAL: [FIRST], UPDATE: STORY}, recipe=recipe)
    assert list(material(model.asked(UPDATE)[1], "state_schema")) == [EVENINGS]


def test_changes_that_would_starve_later_periods_are_sent_back() -> None:
    recipe = scenario.recipe(num_periods=3, max_changes_per_state=1)
    greedy = moved(**{DIET: SECOND[DIET], GOAL: SECOND[GOAL]})
    trajectory, model = evolved({INITIAL: [FIRST], UPDATE: [greedy, update]}, recipe=recipe)
    assert "2 variables change; let at least 1 and at most 1 change" in model.objections(UPDATE)[0]
    assert [len(period.updates) for period in trajectory.periods] == [0, 1, 1, 1]


def test_a_choice_of_variables_that_would_starve_later_periods_is_sent_back_with_a_better_one() -> None:
    recipe = small_recipe(num_questions=2, num_periods=3, num_changes_per_period=3, max_changes_per_state=2)
    replies: list[Reply] = [moved(a="y", b="y"), moved(a="x", b="x"), moved(a="x", c="y"), moved(b="x", c="x")]
    trajectory, model = evolved({UPDATE: replies}, recipe=recipe, schema=schema_of({name: ["x", "y"] for name in "abc"}))
    assert model.objections(UPDATE) == [
        "That answer cannot be used. Later periods would lack variables that may still change; choose among ['c', 'a'] instead."
        "\nAnswer again with the complete, corrected JSON object."
    ]
    assert [len(period.updates) for period in trajectory.periods] == [0, 2, 2, 2]


def test_a_user_whose_updates_stay_illegal_is_given_up() -> None:
    with pytest.raises(UserFailed, match="state_trajectory/update: 0 variables change"):
        evolved({UPDATE: [moved()]})


def erratic(request: ModelRequest, chance: random.Random) -> object:
    """Changes any number of any variables; told what is possible, it obeys to the letter and no further."""
    offered, objection = material(request, "state_schema"), request.messages[-1].content
    names = list(offered)
    bounds = re.search(r"at least (\d+) and at most (\d+) change", objection)
    among = re.search(r"choose among (\[.*?\]) instead", objection)
    count = chance.randint(int(bounds[1]), int(bounds[2])) if bounds else chance.randint(0, len(names))
    if among:
        names = re.findall(r"'(\w+)'", among[1])
        count = len(names)
    chosen = chance.sample(names, count)
    return moved(**{name: chance.choice(offered[name]) for name in chosen})


@settings(max_examples=50)
@given(
    counts=st.fixed_dictionaries(
        {
            "num_questions": st.integers(1, 3),
            "num_periods": st.integers(1, 6),
            "num_changes_per_period": st.integers(1, 5),
            "max_changes_per_state": st.integers(1, 4),
        }
    ),
    seed=st.integers(),
)
def test_whatever_a_model_chooses_every_possible_recipe_can_be_finished(counts: dict[str, int], seed: int) -> None:
    try:
        recipe = small_recipe(gates=GatePolicy(max_reasks=3), **counts)
    except ValidationError:
        return
    schema = schema_of({f"v{index}": ["x", "y", "z"] for index in range(2 * recipe.num_questions)})
    chance = random.Random(seed)
    trajectory, _ = evolved({UPDATE: [partial(erratic, chance=chance)]}, recipe=recipe, schema=schema)
    per_period = [len(period.updates) for period in trajectory.periods[1:]]
    per_variable = Counter(update.variable for period in trajectory.periods for update in period.updates)
    assert len(per_period) == recipe.num_periods
    assert min(per_period) >= recipe.fewest_changes
    assert max(per_period) <= recipe.num_changes_per_period + 1
    assert max(per_variable.values()) <= recipe.max_changes_per_state


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
