"""A run starts what it is going to need before its turn comes, and nothing else."""

import asyncio
from pathlib import Path

from assets.amemgym.questions import QUESTIONS
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.ports import RunContext
from tests.assets.engine.stage_runs import PROFILE, QUESTION, refusing
from tests.support.coroutines import run
from tests.support.run_contexts import run_context, runner_of, sampled
from tests.support.scripted_model import Script, ScriptedModel
from tests.support.small import small_recipe


def profiles_with_questions_ahead(folder: Path, script: Script, *, items_per_part: int = 200) -> ScriptedModel:
    """Make two users' profiles in a run that reaches their questions next, and wait until nothing is in flight."""
    model = ScriptedModel(script)
    shop, recipe = run_context(folder, model, items_per_part=items_per_part), small_recipe(num_users=2, num_reserve=2)

    async def make() -> None:
        runner = runner_of(USER_PROFILES, shop, recipe, {"personas": sampled(shop, recipe)})
        runner.later = (QUESTIONS,)
        await runner.run()
        await prefetched(shop)

    run(make())
    return model


async def prefetched(shop: RunContext) -> None:
    while shop.in_flight.prefetches:
        await asyncio.gather(*shop.in_flight.prefetches)


def test_users_who_are_done_go_on_and_no_persona_of_the_reserve_is_started(tmp_path: Path) -> None:
    model = profiles_with_questions_ahead(tmp_path, {})
    assert (len(model.asked(PROFILE)), len(model.asked(QUESTION))) == (2, 2)


def test_the_replacement_of_a_user_who_fails_ahead_starts_before_the_failed_stage_has_its_turn(tmp_path: Path) -> None:
    model = profiles_with_questions_ahead(tmp_path, {QUESTION: [refusing(0)]})
    assert len(model.asked(PROFILE)) == 3
    assert "Ada Number2" in model.asked(QUESTION)[-1].messages[-1].content


def test_a_replacement_that_fails_too_is_replaced_in_turn(tmp_path: Path) -> None:
    model = profiles_with_questions_ahead(tmp_path, {QUESTION: [refusing(0, 2)]})
    assert len(model.asked(PROFILE)) == 4


def test_each_failure_starts_one_replacement_and_an_empty_reserve_none(tmp_path: Path) -> None:
    model = profiles_with_questions_ahead(tmp_path, {QUESTION: [refusing(0, 1, 2, 3)]})
    assert len(model.asked(PROFILE)) == 4


def test_a_unit_of_many_parts_starts_nothing_ahead(tmp_path: Path) -> None:
    model = profiles_with_questions_ahead(tmp_path, {}, items_per_part=1)
    assert model.asked(QUESTION) == []
