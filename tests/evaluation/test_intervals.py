"""Intervals cover what they promise, users are the unit, and two runs are compared user by user."""

import numpy as np
import pytest

from assets.reporting.intervals import Sample, Tallies, share
from pipelines.experiments.paired import Paired, paired

OVERALL = share("right", "scored")


def simulated(seed: int, *, users: int = 20, questions: int = 110) -> Tallies:
    """Users of different ability, whose answers depend on it; the mean ability is 0.6."""
    chance = np.random.Generator(np.random.PCG64(seed))
    right = chance.binomial(questions, chance.beta(6, 4, size=users)).astype(float)
    counts = {"right": right[:, None], "scored": np.full((users, 1), float(questions))}
    return Tallies(tuple(map(str, range(users))), counts)


@pytest.mark.parametrize("users", [8, 20])
def test_the_interval_covers_the_truth_in_about_95_of_100_evaluations(users: int) -> None:
    found = [Sample.of(simulated(seed, users=users), seed=seed).estimate(OVERALL) for seed in range(400)]
    covered = np.mean([one.low is not None and one.high is not None and one.low <= 0.6 <= one.high for one in found])

    assert 0.93 <= covered <= 0.97


def test_a_single_user_has_no_interval() -> None:
    found = Sample.of(simulated(1, users=1), seed=1).estimate(OVERALL)

    assert found.value is not None
    assert (found.low, found.high) == (None, None)


def test_nothing_to_divide_by_is_no_value() -> None:
    nothing = Tallies(("ada", "ben"), {"right": np.zeros((2, 1)), "scored": np.zeros((2, 1))})

    assert Sample.of(nothing, seed=1).estimate(OVERALL).value is None


def tallies(*right: int) -> Tallies:
    """One user each with so many of ten right."""
    counts = {"right": np.array(right, dtype=float)[:, None], "scored": np.full((len(right), 1), 10.0)}
    return Tallies(tuple(map(str, range(len(right)))), counts)


def compared(first: Tallies, second: Tallies) -> Paired:
    """The two by their share of right answers."""
    [found] = paired({"overall": OVERALL}, (first, second), seed=1)
    return found


def test_with_three_users_even_the_clearest_difference_has_a_p_value_of_a_quarter() -> None:
    found = compared(tallies(1, 2, 3), tallies(8, 9, 10))

    assert found.difference.value == pytest.approx(0.7)
    assert found.p_value == pytest.approx(2 / 8)


def test_a_run_does_not_differ_from_itself() -> None:
    found = compared(tallies(1, 5, 9), tallies(1, 5, 9))

    assert (found.difference.value, found.difference.low, found.p_value, found.detectable) == (0, 0, 1, 0)


def test_a_difference_that_all_users_share_shows_although_users_differ_widely() -> None:
    lower = list(range(10)) * 2
    found = compared(tallies(*lower), tallies(*(right + 1 for right in lower)))

    assert found.p_value is not None
    assert found.p_value < 0.01
