"""Measures of how a state moves, on trajectories that a reader can follow."""

from collections.abc import Sequence

import pytest
from dateutil.relativedelta import relativedelta
from hypothesis import given
from hypothesis import strategies as st

from assets.amemgym.records.state import TrajectoryPeriod
from assets.amemgym.state_trajectory.quality import (
    PingPong,
    all_can_move,
    balance,
    count_golden_changes,
    golden_change_share,
    ping_pongs,
    recently_left_values,
    unmoved_variables,
    unvisited_choices,
)
from tests.support.small import START, small_recipe, trajectory_of

CHOICES = {"a": ["x", "y", "z"], "b": ["x", "y"]}
Path = list[tuple[str, str]]


def periods(*states: str) -> Sequence[TrajectoryPeriod]:
    """Periods of the variables a and b: "xy" is a = x and b = y."""
    ends = [START + relativedelta(months=index) for index in range(len(states))]
    return trajectory_of([dict(zip("ab", state, strict=True)) for state in states], ends=ends).periods


def test_a_value_that_comes_back_within_two_periods_is_a_ping_pong() -> None:
    assert ping_pongs(periods("xx", "yx", "xx")) == [PingPong("a", "x", 1, 2)]
    assert ping_pongs(periods("xx", "yx", "yx", "xx")) == [PingPong("a", "x", 1, 3)]


def test_a_value_that_comes_back_later_or_by_a_detour_is_none() -> None:
    assert ping_pongs(periods("xx", "yx", "yx", "yx", "xx")) == []
    assert ping_pongs(periods("xx", "yx", "zx", "xx")) == []


def test_each_return_of_a_variable_counts() -> None:
    assert [(one.variable, one.back) for one in ping_pongs(periods("xx", "yy", "xx", "yx"))] == [("a", 2), ("b", 2), ("a", 3)]


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("xy")), min_size=2, max_size=8))
def test_a_value_recently_left_values_is_what_would_be_a_ping_pong_next(path: Path) -> None:
    *before, last = ["".join(state) for state in path]
    found = {(one.variable, one.value) for one in ping_pongs(periods(*before, last)) if one.back == len(before)}
    left = recently_left_values(periods(*before))
    changed = {name for name, old, new in zip("ab", before[-1], last, strict=True) if old != new}
    assert found == {(name, left[name]) for name in changed & left.keys() if left[name] == last["ab".index(name)]}


def test_a_variable_that_keeps_its_value_has_not_moved() -> None:
    assert unmoved_variables(periods("xx", "yx", "zx")) == ["b"]
    assert unmoved_variables(periods("xx")) == ["a", "b"]


def test_all_variables_can_move_when_there_are_as_many_changes() -> None:
    recipe = small_recipe(num_questions=4, num_periods=3, num_changes_per_period=2)
    assert (all_can_move(6, recipe), all_can_move(7, recipe)) == (True, False)


def test_choices_that_never_come_up_are_named() -> None:
    assert unvisited_choices(periods("xx", "yx"), CHOICES) == {"a": ["z"], "b": ["y"]}
    assert unvisited_choices(periods("xx", "yx", "zy"), CHOICES) == {}


def test_balance_is_one_for_equal_times_and_zero_for_one_value() -> None:
    assert balance(periods("xx", "yx", "zx"), CHOICES) == {"a": pytest.approx(1.0), "b": pytest.approx(0.0)}
    assert balance(periods("xx", "xy", "xx", "yx"), CHOICES)["b"] == pytest.approx(0.811, abs=0.001)


def test_a_question_changes_its_answer_when_one_of_its_variables_moves() -> None:
    moving = periods("xx", "yx", "yy", "yy")
    assert count_golden_changes(moving, [["a"], ["b"], ["a", "b"]]) == [2, 2, 0]
    assert golden_change_share(moving, [["a"], ["b"], ["a", "b"]]) == pytest.approx(4 / 9)
    assert golden_change_share(periods("xx"), [["a"]]) == 0.0
