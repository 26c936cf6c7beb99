"""Intervals cover what they promise, users are the unit, and two runs are compared user by user."""

import numpy as np
import pytest

from assets.records.estimate import Estimate, interval_note
from assets.reporting.intervals import Tallies, quotient, share
from assets.reporting.statistic import UserShare
from pipelines.experiments.scoring.paired import Paired, compare_paired, correct_p_values
from pipelines.experiments.scoring.ranking import alike_groups
from tests.evaluation.simulated_runs import Shape, calibrate

OVERALL = share("right", "scored")


def tallies(*right: int, questions: int = 10) -> Tallies:
    """One user each with so many of ten right."""
    counts = {"right": np.array(right, dtype=float)[:, None], "scored": np.full((len(right), 1), float(questions))}
    return Tallies(tuple(map(str, range(len(right)))), counts)


@pytest.mark.parametrize(
    ("shape", "loss"),
    [
        (Shape(users=6, questions=44, right=0.6, spread=0.2, flips=0.05), 0.05),
        (Shape(users=20, questions=20, right=0.8, spread=0.1, flips=0.1), 0.05),
        (Shape(users=50, questions=10, right=0.9, spread=0.0, flips=0.1), 0.05),
    ],
)
def test_simulated_runs_get_what_is_promised(shape: Shape, loss: float) -> None:
    found = calibrate(shape, loss=loss, seed=7)

    assert 0.92 <= found.covered <= 0.98
    assert max(found.told_apart, found.alarms, found.cleared) <= 0.08
    assert found.said == pytest.approx(found.found, abs=0.07)


def test_fewer_than_six_users_have_a_number_and_no_interval_and_one_sentence_says_why() -> None:
    found = tallies(1, 5, 9, 5, 4).estimate(OVERALL)

    assert found == Estimate(value=0.48, low=None, high=None)
    assert interval_note(5, "user") == "There are no intervals: fewer than 6 users do not show how much users differ."
    assert compared(tallies(1, 1, 1, 1, 1), tallies(9, 9, 9, 9, 9)).p_value is None
    assert interval_note(6, "task").startswith("Brackets hold 95 % intervals over tasks")


def test_users_who_came_one_by_one_have_the_same_interval() -> None:
    one_by_one = UserShare()
    for right in (1, 5, 9, 5, 4, 6, 6):
        one_by_one.add(right, 10)

    assert one_by_one.estimate() == tallies(1, 5, 9, 5, 4, 6, 6).estimate(OVERALL)


def test_all_right_or_none_has_the_interval_of_independent_answers() -> None:
    [low, high] = (tallies(*[right] * 20).estimate(OVERALL) for right in (0, 10))

    assert (low.value, low.low, low.high) == (0, 0, pytest.approx(0.021434, abs=1e-6))  # t² / (200 + t²), t of 19
    assert (high.value, high.low, high.high) == (1, pytest.approx(1 - 0.021434, abs=1e-6), 1)


def test_users_who_differ_less_than_chance_would_let_them_do_not_make_an_interval_short() -> None:
    found = tallies(*[5] * 20).estimate(OVERALL)

    assert found.low == pytest.approx(0.5 - 0.0427, abs=1e-3)  # a third of the variance of 200 answers


def test_only_users_who_were_asked_count() -> None:
    counts = {"right": np.array([[3.0]] * 5 + [[0.0]]), "scored": np.array([[3.0]] * 5 + [[0.0]])}

    assert Tallies(tuple("abcdef"), counts).estimate(OVERALL) == Estimate(value=1, low=None, high=None)


def test_an_amount_that_is_the_same_for_all_has_no_width() -> None:
    found = tallies(*[5] * 6).estimate(quotient("right", "scored", kind="amount", within=None))

    assert (found.low, found.high) == (0.5, 0.5)


def test_nothing_to_divide_by_is_no_value() -> None:
    nothing = Tallies(("ada", "ben"), {"right": np.zeros((2, 1)), "scored": np.zeros((2, 1))})

    assert nothing.estimate(OVERALL) == UserShare().estimate() == Estimate(value=None, low=None, high=None)


def compared(first: Tallies, second: Tallies) -> Paired:
    """The two by their share of right answers."""
    [found] = compare_paired({"overall": OVERALL}, (first, second))
    return found


def test_a_run_differs_from_itself_by_less_than_a_few_answers() -> None:
    found = compared(tallies(1, 5, 9, 1, 5, 9), tallies(1, 5, 9, 1, 5, 9))

    assert (found.difference.value, found.p_value) == (0, 1)
    assert (found.difference.low, found.difference.high) == pytest.approx((-2.5706 / 60, 2.5706 / 60), abs=1e-4)


def test_a_difference_that_all_users_share_shows_although_users_differ_widely() -> None:
    lower = list(range(10)) * 2
    found = compared(tallies(*lower), tallies(*(right + 1 for right in lower)))

    assert found.p_value is not None
    assert found.p_value < 0.01


def test_p_values_of_several_pairs_hold_for_all_of_them_together() -> None:
    # Holm: .01 times three, .02 times two, .03 at least as much as the one before.
    assert correct_p_values([0.03, None, 0.01, 0.02]) == [0.04, None, 0.03, 0.04]
    assert correct_p_values([0.9, 0.8]) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("apart", "groups"),
    [
        ([], [[0, 1, 2]]),
        ([(0, 2)], [[0, 1], [1, 2]]),
        ([(0, 1), (0, 2)], [[0], [1, 2]]),
        ([(0, 1), (0, 2), (1, 2)], [[0], [1], [2]]),
        ([(0, 1)], [[0, 2], [1, 2]]),  # the one between them differs more than it lies apart
    ],
)
def test_groups_hold_all_that_are_not_told_apart_and_no_two_that_are(
    apart: list[tuple[int, int]], groups: list[list[int]]
) -> None:
    assert alike_groups(3, apart=apart) == groups
