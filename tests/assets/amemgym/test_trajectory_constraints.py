"""Changes are few enough per variable, leave room for the periods to come, and move the answers as the recipe wants."""

import random
import re
from collections import Counter
from datetime import date
from functools import partial
from math import prod
from statistics import fmean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from assets.amemgym.records.state import StateUpdate, TrajectoryPeriod
from assets.amemgym.state_trajectory.constraints import TrajectoryConstraints
from assets.amemgym.state_trajectory.quality import golden_change_share, ping_pongs
from assets.llm.ports import ModelRequest
from assets.recipe.policies import GatePolicy
from tests.assets.amemgym.evolved_states import FIRST, INITIAL, SECOND, STORY, THIRD, UPDATE, evolved, moved
from tests.support import scenario
from tests.support.honest_replies import material, may_become, update
from tests.support.scenario import DIET, EVENINGS, GOAL
from tests.support.scripted_model import Reply
from tests.support.small import excluding, schema_of, small_recipe


def test_a_variable_that_has_changed_often_enough_is_no_longer_offered() -> None:
    recipe = scenario.recipe(max_changes_per_state=1)
    _, model = evolved({INITIAL: [FIRST], UPDATE: STORY}, recipe=recipe)
    assert list(may_become(model.asked(UPDATE)[1])) == [EVENINGS]


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
    offered = [may_become(request) for request in model.asked(UPDATE)]
    assert [one["a"] for one in offered] == [["y", "z"], ["z"], ["z"], ["x"], ["x"]]
    assert [one["b"] for one in offered] == [["y", "z"], ["y", "z"], ["z"], ["z"], ["x"]]


def test_with_two_values_the_way_back_stays_open() -> None:
    _, model = evolved(
        {UPDATE: [moved(a="y", b="y"), moved(a="x")]},
        recipe=small_recipe(num_periods=2),
        schema=schema_of({"a": ["x", "y"], "b": ["x", "y"]}),
    )
    assert may_become(model.asked(UPDATE)[1])["a"] == ["x"]


def test_variables_that_have_never_changed_are_named_when_time_runs_short() -> None:
    recipe = small_recipe(num_periods=2, num_changes_per_period=1, max_changes_per_state=2)
    schema = schema_of({name: ["x", "y", "z"] for name in "ab"})
    trajectory, model = evolved({UPDATE: [moved(a="y"), moved(a="z"), moved(b="y")]}, recipe=recipe, schema=schema)
    first, second, _ = model.asked(UPDATE)
    assert [material(request, "due")["of"] for request in (first, second)] == [["a", "b"], ["b"]]
    assert material(second, "due")["at_least"] == 1
    assert "Of ['b'], which have never changed, at least 1 must change now; for instance" in model.objections(UPDATE)[0]
    assert trajectory.periods[2].updates[0].variable == "b"


def test_a_variable_that_a_model_never_changes_stays_as_it_is_and_the_others_change() -> None:
    recipe = small_recipe(num_periods=2, num_changes_per_period=1, max_changes_per_state=2)
    schema = schema_of({name: ["x", "y", "z"] for name in "ab"})
    trajectory, model = evolved({UPDATE: [moved(a="y"), *[moved(a="z")] * 4]}, recipe=recipe, schema=schema)
    assert "which have never changed, at least 1 must change now" in model.objections(UPDATE)[0]
    assert [[update.variable for update in period.updates] for period in trajectory.periods] == [[], ["a"], ["a"]]


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
    rng = random.Random(0)
    trajectory, model = evolved({UPDATE: [partial(erratic, rng=rng)]}, recipe=recipe, schema=QUESTIONS)
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


def test_with_balanced_options_a_variable_takes_no_more_values_than_the_options_have() -> None:
    counts = {"num_questions": 4, "num_periods": 8, "num_changes_per_period": 2, "max_changes_per_state": 3}
    recipe = small_recipe(**counts, num_choices_per_state=3, balanced_options=7)
    trajectory, _ = evolved({UPDATE: [partial(erratic, rng=random.Random(0))]}, recipe=recipe, schema=QUESTIONS)
    combinations: list[int] = []
    for question in QUESTIONS.questions:
        taken = [{period.state[name] for period in trajectory.periods} for name in question.required_info]
        combinations.append(prod(map(len, taken)))
    assert fmean(combinations) <= 7
    assert ping_pongs(trajectory.periods) == []


def test_without_a_wanted_share_questions_are_not_shown() -> None:
    _, model = evolved({INITIAL: [FIRST], UPDATE: STORY})
    assert "<questions>" not in model.asked(UPDATE)[0].messages[1].content


def erratic(request: ModelRequest, rng: random.Random) -> object:
    """Changes any number of any variables; told what is possible, it obeys to the letter and no further."""
    offered, objection = may_become(request), request.messages[-1].content
    names = list(offered)
    bounds = re.search(r"at least (\d+) and at most (\d+) change", objection)
    instance = re.search(r"for instance, change (\[.*?\]) instead", objection)
    count = rng.randint(int(bounds[1]), int(bounds[2])) if bounds else rng.randint(0, len(names))
    if instance:
        names = re.findall(r"'(\w+)'", instance[1])
        count = len(names)
    chosen = rng.sample(names, count)
    return moved(**{name: rng.choice(offered[name]) for name in chosen})


@settings(max_examples=50)
@given(
    counts=st.fixed_dictionaries(
        {
            "num_questions": st.integers(1, 3),
            "num_periods": st.integers(1, 6),
            "num_changes_per_period": st.integers(1, 5),
            "max_changes_per_state": st.integers(1, 4),
            "balanced_options": st.none() | st.sampled_from((4, 6.5, 9)),
        }
    ),
    seed=st.integers(),
)
def test_whatever_a_model_chooses_every_possible_recipe_can_be_finished(counts: dict[str, float | None], seed: int) -> None:
    try:
        recipe = small_recipe(gates=GatePolicy(max_reasks=3), **counts)
    except ValidationError:
        return
    schema = schema_of({f"v{index}": ["x", "y", "z"] for index in range(2 * recipe.num_questions)})
    rng = random.Random(seed)
    trajectory, _ = evolved({UPDATE: [partial(erratic, rng=rng)]}, recipe=recipe, schema=schema)
    per_period = [len(period.updates) for period in trajectory.periods[1:]]
    per_variable = Counter(update.variable for period in trajectory.periods for update in period.updates)
    assert len(per_period) == recipe.num_periods
    assert min(per_period) >= recipe.fewest_changes
    assert max(per_period) <= recipe.num_changes_per_period + 1
    assert max(per_variable.values()) <= recipe.max_changes_per_state


def test_states_that_exclude_each_other_are_never_held_together() -> None:
    schema = excluding(
        scenario.schema(), {DIET: FIRST[DIET], GOAL: FIRST[GOAL]}, {GOAL: SECOND[GOAL], EVENINGS: FIRST[EVENINGS]}
    )
    begun = {**FIRST, DIET: SECOND[DIET]}
    replies = [moved(**{DIET: FIRST[DIET]}), moved(**{EVENINGS: THIRD[EVENINGS]}), moved(**{GOAL: SECOND[GOAL]})]
    trajectory, model = evolved({INITIAL: [FIRST, begun], UPDATE: replies}, schema=schema)
    assert "which exclude each other; choose otherwise" in model.objections(INITIAL)[0]
    assert "which exclude each other; choose otherwise" in model.objections(UPDATE)[0]
    assert [period.state for period in trajectory.periods if schema.excluded(period.state)] == []
    assert material(model.asked(UPDATE)[0], "exclusive") == {
        DIET: {FIRST[DIET]: {GOAL: [FIRST[GOAL]]}},
        GOAL: {SECOND[GOAL]: {EVENINGS: [FIRST[EVENINGS]]}},
    }


def test_only_exclusive_values_that_the_period_could_bring_together_are_shown() -> None:
    beyond, within = {DIET: SECOND[DIET], GOAL: FIRST[GOAL]}, {GOAL: SECOND[GOAL], EVENINGS: FIRST[EVENINGS]}
    schema = excluding(scenario.schema(), beyond, within)
    first = TrajectoryPeriod(index=0, start=None, end=date(2021, 1, 1), summary=None, updates=(), state=FIRST)
    unmoved = TrajectoryConstraints(schema, scenario.recipe(), [first])
    assert unmoved.exclusive_in_reach() == [beyond, within]
    settled = TrajectoryConstraints(schema, scenario.recipe(max_changes_per_state=1), [first])
    update = StateUpdate(variable=GOAL, old=FIRST[GOAL], new=SECOND[GOAL])
    state = {**FIRST, GOAL: SECOND[GOAL]}
    settled.periods.append(
        TrajectoryPeriod(index=1, start=first.end, end=date(2021, 4, 1), summary="x", updates=(update,), state=state)
    )
    assert settled.exclusive_in_reach() == [within]
