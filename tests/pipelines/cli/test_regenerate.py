"""Asking again counts up from the recipe that was followed last, and goes on with what was interrupted."""

import pytest

from pipelines.cli.errors import Problem
from pipelines.cli.generate import asked_again
from pipelines.cli.recipe import launchpad_config
from tests.support.small import small_recipe

KEPT = {"v": {"events": 2}, "u": {"questions": 1}}


def test_each_time_is_one_more_and_the_others_stay() -> None:
    once = asked_again(small_recipe(again=KEPT), item_id="u", stage="answers", finished=True)
    assert once.again == {"u": {"answers": 1, "questions": 1}, "v": {"events": 2}}
    twice = asked_again(once, item_id="u", stage="answers", finished=True)
    assert twice.again == {"u": {"answers": 2, "questions": 1}, "v": {"events": 2}}


def test_the_same_command_goes_on_with_a_run_that_was_interrupted() -> None:
    recipe = small_recipe(again=KEPT)
    assert asked_again(recipe, item_id="u", stage="questions", finished=False) == recipe


def test_nobody_is_asked_again_while_another_run_is_unfinished() -> None:
    with pytest.raises(Problem, match="The last run of 'small' did not finish"):
        asked_again(small_recipe(again=KEPT), item_id="u", stage="answers", finished=False)


def test_the_launchpad_is_told_what_differs_from_the_file_and_nothing_else() -> None:
    from assets.recipe.loading import load_recipe

    demo = load_recipe("demo")
    changed = load_recipe("demo", {"num_users": 2, "models.judge.temperature": None, "again.u.answers": 1})
    assert launchpad_config(demo) == {}
    assert launchpad_config(changed) == {
        "num_users": 2,
        "models": {"judge": {"temperature": None}},
        "again": {"u": {"answers": 1}},
    }
