"""Intervals cover what they promise, users are the unit, and two runs are compared user by user."""

import numpy as np
import pytest

from assets.records.estimate import Estimate
from assets.reporting.intervals import UNIT, Sample, Tallies, share, unseen_share
from pipelines.experiments.scoring.paired import Paired, paired

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


def test_the_interval_covers_the_truth_where_one_user_in_twenty_is_served_wrongly_throughout() -> None:
    found = list[Estimate]()
    for seed in range(400):
        right = np.random.Generator(np.random.PCG64(seed)).binomial(1, 0.95, size=20) * 10
        found.append(Sample.of(tallies(*right), seed=seed).estimate(OVERALL, within=UNIT))

    assert np.mean([one.low is not None and one.low <= 0.95 for one in found]) >= 0.95


def test_users_who_are_all_alike_have_the_interval_of_wilson() -> None:
    [low, high] = (Sample.of(tallies(*[right] * 20), seed=1).estimate(OVERALL, within=UNIT) for right in (0, 10))

    assert (low.value, low.low, low.high) == (0, 0, pytest.approx(0.161125, abs=1e-6))
    assert (high.value, high.low, high.high) == (1, pytest.approx(0.838875, abs=1e-6), 1)


def test_only_users_who_were_asked_count_among_those_who_are_alike() -> None:
    few = Tallies(("a", "b", "c"), {"right": np.array([[3.0], [3.0], [0.0]]), "scored": np.array([[3.0], [3.0], [0.0]])})

    assert Sample.of(few, seed=1).estimate(OVERALL, within=UNIT).low == pytest.approx(1 - unseen_share(2), abs=1e-6)


def test_a_mean_that_is_no_share_has_no_width_where_all_users_are_alike() -> None:
    found = Sample.of(tallies(5, 5, 5), seed=1).estimate(OVERALL)

    assert (found.low, found.high) == (0.5, 0.5)


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


def test_no_difference_is_detectable_where_it_would_have_to_be_larger_than_shares_differ() -> None:
    found = compared(tallies(0, 10, 1), tallies(10, 0, 9))

    assert found.detectable is not None
    assert found.detectable > 1
    assert found.detectable_label == "none with so few"
    assert compared(tallies(1, 2, 3), tallies(8, 9, 9)).detectable_label.startswith(".")


def test_a_run_does_not_differ_from_itself() -> None:
    found = compared(tallies(1, 5, 9), tallies(1, 5, 9))

    assert (found.difference.value, found.p_value, found.detectable) == (0, 1, None)
    assert (found.difference.low, found.difference.high) == pytest.approx((-unseen_share(3), unseen_share(3)), abs=1e-6)


def test_a_difference_that_all_users_share_shows_although_users_differ_widely() -> None:
    lower = list(range(10)) * 2
    found = compared(tallies(*lower), tallies(*(right + 1 for right in lower)))

    assert found.p_value is not None
    assert found.p_value < 0.01
