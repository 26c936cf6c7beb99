"""A gate's policy is the paper's or one's own, and none that contradicts itself."""

import pytest

from assets.recipe.policies import PAPER, GatePolicy


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
        ({"cannot_tell": False}, r"gates\.unexposed is true, but judges may not say that they cannot tell"),
    ],
)
def test_a_policy_that_contradicts_itself_is_refused(fields: dict[str, object], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        GatePolicy.model_validate(fields)


def test_the_choice_gate_takes_one_vote_less_than_recovery_before_it() -> None:
    assert (GatePolicy().votes_for("recovery"), GatePolicy().votes_for("choice")) == ((2, 2), (1, 1))
    assert GatePolicy(votes=3).votes_for("choice") == (2, 1)
    assert GatePolicy(votes=1, votes_needed=1).votes_for("choice") == (1, 1)
