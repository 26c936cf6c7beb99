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
from assets.records.gate_policy import GatePolicy
from assets.records.recipe import Recipe
from assets.records.schema import StateSchema
from assets.records.trajectory import StateTrajectory
from assets.state_trajectory import evolve_state, period_dates
from assets.trajectory_quality import golden_change_share
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
        "That answer cannot be used. Later periods would lack variables that may still change; for instance, change ['c', 'a'] "
        "instead.\nAnswer again with the complete, corrected JSON object."
    ]
    assert [len(period.updates) for period in trajectory.periods] == [0, 2, 2, 2]


def test_a_value_left_in_the_last_two_periods_is_held_back_and_one_never_had_stands_first() -> None:
    schema = schema_of({"a": ["x", "y", "z"], "b": ["x", "y", "z"]})
    replies: list[Reply] = [moved(a="y"), moved(b="y"), moved(a="z"), moved(b="z"), moved(a="x")]
    recipe = small_recipe(num_periods=5, max_changes_per_state=5)
    _, model = evolved({UPDATE: replies}, recipe=recipe, schema=schema)
    offered = [material(request, "state_schema") for request in model.asked(UPDATE)]
    assert [one["a"] for one in offered] == [["y", "z"], ["z"], ["z"], ["x"], ["x"]]
    assert [one["b"] for one in offered] == [["y", "z"], ["y", "z"], ["z"], ["z"], ["x"]]


def test_with_two_values_the_way_back_stays_open() -> None:
    _, model = evolved(
        {UPDATE: [moved(a="y", b="y"), moved(a="x")]},
        recipe=small_recipe(num_periods=2),
        schema=schema_of({"a": ["x", "y"], "b": ["x", "y"]}),
    )
    assert material(model.asked(UPDATE)[1], "state_schema")["a"] == ["x"]


def test_variables_that_have_never_changed_are_named_when_time_runs_short() -> None:
    recipe = small_recipe(num_periods=2, num_changes_per_period=1, max_changes_per_state=2)
    schema = schema_of({name: ["x", "y", "z"] for name in "ab"})
    trajectory, model = evolved({UPDATE: [moved(a="y"), moved(a="z"), moved(b="y")]}, recipe=recipe, schema=schema)
    first, second, _ = model.asked(UPDATE)
    assert [material(request, "due")["of"] for request in (first, second)] == [["a", "b"], ["b"]]
    assert material(second, "due")["at_least"] == 1
    assert "Of ['b'], which have never changed, at least 1 must change now; for instance" in model.objections(UPDATE)[0]
    assert trajectory.periods[2].updates[0].variable == "b"


QUESTIONS = schema_of({name: ["x", "y", "z"] for name in "abcdefgh"})


@pytest.mark.parametrize("share", [0.25, 0.5, 0.75])
def test_the_share_of_changed_answers_comes_near_to_the_recipes(share: float) -> None:
    recipe = small_recipe(
        num_questions=4,
        num_periods=8,
        num_changes_per_period=2,
        max_changes_per_state=4,
        golden_changes=share,
        gates=GatePolicy(max_reasks=3),
    )
    chance = random.Random(0)
    trajectory, model = evolved({UPDATE: [partial(erratic, chance=chance)]}, recipe=recipe, schema=QUESTIONS)
    required = [question.required_info for question in QUESTIONS.questions]
    assert abs(golden_change_share(trajectory.periods, required) - share) <= 0.07
    assert material(model.asked(UPDATE)[0], "questions") == {
        f"q{number:02d}": list(required[number - 1]) for number in range(1, 5)
    }


def test_a_wanted_share_is_not_insisted_on() -> None:
    recipe = small_recipe(num_questions=4, num_periods=1, num_changes_per_period=2, golden_changes=1.0)
    trajectory, model = evolved({UPDATE: [moved(a="y")]}, recipe=recipe, schema=QUESTIONS)
    assert "1 questions have a variable that changes; " in model.objections(UPDATE)[0]
    assert [update.variable for update in trajectory.periods[1].updates] == ["a"]


def test_without_a_wanted_share_questions_are_not_shown() -> None:
    _, model = evolved({INITIAL: [FIRST], UPDATE: STORY})
    assert "<questions>" not in model.asked(UPDATE)[0].messages[1].content


def test_a_user_whose_updates_stay_illegal_is_given_up() -> None:
    with pytest.raises(UserFailed, match="state_trajectory/update: 0 variables change"):
        evolved({UPDATE: [moved()]})


def erratic(request: ModelRequest, chance: random.Random) -> object:
    """Changes any number of any variables; told what is possible, it obeys to the letter and no further."""
    offered, objection = material(request, "state_schema"), request.messages[-1].content
    names = list(offered)
    bounds = re.search(r"at least (\d+) and at most (\d+) change", objection)
    instance = re.search(r"for instance, change (\[.*?\]) instead", objection)
    count = chance.randint(int(bounds[1]), int(bounds[2])) if bounds else chance.randint(0, len(names))
    if instance:
        names = re.findall(r"'(\w+)'", instance[1])
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
