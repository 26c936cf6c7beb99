"""A gate's policy is the paper's or one's own, and none that contradicts itself."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assets.recipe.policies import MOST_VOTES, PAPER, GatePolicy


def test_the_papers_policy_settles_what_makes_it_one_forced_choice() -> None:
    paper = GatePolicy.model_validate({"policy": "paper", "max_refinements": 5})
    assert {name: getattr(paper, name) for name in PAPER} == PAPER
    assert paper.max_refinements == 5
    assert GatePolicy.model_validate(paper.model_dump()) == paper


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"policy": "paper", "votes": 3}, r"gates\.policy is paper, which settles \['votes'\]; leave them out"),
        ({"policy": "paper", "reverse": True}, r"settles \['reverse'\]"),
        ({"votes": 1}, r"gates\.votes_needed is 2, but gates\.votes is only 1"),
        ({"policy": "calibrated", "votes": 3}, r"gates\.policy is calibrated, which works out \['votes'\]; leave them out"),
        ({"policy": "calibrated", "judge_error": {"exposure": 0.7}}, r"judge_error\.exposure is 0\.7, with which it takes \d+"),
        ({"policy": "calibrated", "cannot_tell": False, "unexposed": False}, r"set gates\.cannot_tell true"),
        ({"cannot_tell": False}, r"gates\.unexposed is true, but judges may not say that they cannot tell"),
    ],
)
def test_a_policy_that_contradicts_itself_is_refused(fields: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        GatePolicy.model_validate(fields)


def test_calibrated_votes_are_the_fewest_that_keep_an_items_false_accepts_below_the_limit() -> None:
    policy = GatePolicy(policy="calibrated")
    assert [policy.votes_for("exposure", text=text)[0] for text in range(policy.texts)] == [2, 2, 2, 3, 3, 3, 3, 3]
    assert [policy.votes_for("recovery", text=text)[0] for text in range(policy.texts)] == [1, 1, 1, 2, 2, 2, 2, 2]
    assert {policy.votes_for("exposure", text=text)[0] - policy.votes_for("exposure", text=text)[1] for text in (0, 7)} == {0}
    alone = GatePolicy(policy="calibrated", reverse=False)
    assert alone.votes_for("recovery") == (2, 2)
    better = GatePolicy.model_validate({"policy": "calibrated", "judge_error": {"exposure": 0.004}})
    assert better.votes_for("exposure") == (1, 1)


def test_one_vote_less_on_any_text_would_break_a_calibrated_policys_limit() -> None:
    policy = GatePolicy(policy="calibrated")
    votes = [policy.votes_for("exposure", text=text)[0] for text in range(policy.texts)]
    wrong = [sum(0.05 ** (count - (place == fewer)) for place, count in enumerate(votes)) for fewer in range(len(votes))]
    assert min(wrong) > policy.max_false_accept >= sum(0.05**count for count in votes)


@given(st.floats(0.001, 0.3), st.floats(0.001, 0.2), st.integers(0, 5), st.integers(0, 3))
def test_a_calibrated_policy_keeps_its_limit_over_all_texts(
    error: float, limit: float, refinements: int, redrafts: int
) -> None:
    errors = dict.fromkeys(("exposure", "recovery", "choice"), error)
    fields = {"max_false_accept": limit, "judge_error": errors, "max_refinements": refinements, "max_redrafts": redrafts}
    policy = GatePolicy.model_validate({"policy": "calibrated", **fields})
    for gates in (("exposure",), ("recovery", "choice")):
        assert policy.false_accept(dict.fromkeys(gates, error)) <= limit + 1e-9
    assert policy.votes_for("exposure", text=policy.texts - 1)[0] <= MOST_VOTES


def test_false_accepts_add_up_over_all_texts_of_an_item() -> None:
    paper = GatePolicy(policy="paper")
    assert paper.texts == 8
    assert math.isclose(paper.false_accept({"exposure": 1 / 3}), 1 - (2 / 3) ** 8)
    two_of_two = GatePolicy()
    assert math.isclose(two_of_two.false_accept({"exposure": 0.2}), 1 - (1 - 0.2**2) ** 8)


def test_the_choice_gate_takes_one_vote_less_than_recovery_before_it() -> None:
    assert (GatePolicy().votes_for("recovery"), GatePolicy().votes_for("choice")) == ((2, 2), (1, 1))
    assert GatePolicy(votes=3).votes_for("choice") == (2, 1)
    assert GatePolicy(votes=1, votes_needed=1).votes_for("choice") == (1, 1)
    assert math.isclose(GatePolicy().false_accept({"recovery": 0.2, "choice": 0.2}), 1 - (1 - 0.2**3) ** 8)
