"""Asking again counts up from the recipe that was followed last, and goes on with what was interrupted."""

from dataclasses import replace

import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage import Stage
from assets.recipe.config_schema import launchpad_config
from assets.recipe.recipe import RecipeError
from pipelines.cli.generate import asked_again
from pipelines.errors import Problem
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


def test_a_stage_that_somebody_added_is_asked_again_like_ours() -> None:
    mottos = Stage("mottos", UserProfile, needs=(USER_PROFILES,), prompts=("user_profiles/complete",))
    benchmark = replace(AMEMGYM, stages=(*AMEMGYM.stages, mottos))
    recipe = asked_again(small_recipe(), item_id="u", stage="mottos", finished=True)
    assert recipe.again == {"u": {"mottos": 1}}
    benchmark.check_stages_asked_again(recipe)
    with pytest.raises(RecipeError, match=r"again\.u names 'mottos', which is no stage that asks a model; there are "):
        AMEMGYM.check_stages_asked_again(recipe)
