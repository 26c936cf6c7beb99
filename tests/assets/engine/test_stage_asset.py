"""What a stage tells its users: problems in one sentence, and its materialization with counts, rows and pictures."""

import errno
from pathlib import Path

import dagster as dg
import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage_asset import run_or_explain, shortfall_message, stages_to_come
from assets.llm.ports import EndpointError, ModelRequest
from tests.support.coroutines import run
from tests.support.run_contexts import materialized, run_context, runner_of, sampled
from tests.support.scripted_model import ScriptedModel, reply
from tests.support.small import small_recipe

PROMPT = "user_profiles/complete"


@pytest.mark.parametrize(
    ("problem", "told"),
    [
        (EndpointError("The key is wrong; set OPENAI_API_KEY."), "The key is wrong; set OPENAI_API_KEY."),
        (OSError(errno.ENOSPC, "No space left on device", "/data/x"), "/data/x cannot be written: No space left on device."),
        (OSError("Snapshot file x is missing."), "Snapshot file x is missing."),
    ],
    ids=["endpoint", "disk", "store"],
)
def test_a_problem_the_user_can_mend_is_one_sentence_without_retry(tmp_path: Path, problem: Exception, told: str) -> None:
    def failing(_: ModelRequest) -> object:
        raise problem

    shop, recipe = run_context(tmp_path, ScriptedModel({PROMPT: [failing]})), small_recipe()
    runner = runner_of(USER_PROFILES, shop, recipe, {"personas": sampled(shop, recipe)})
    with pytest.raises(dg.Failure) as failure:
        run(run_or_explain(runner, AMEMGYM))
    assert failure.value.description is not None
    assert failure.value.description.startswith(told)
    assert failure.value.allow_retries is False


def test_missing_users_are_told_with_what_to_do(tmp_path: Path) -> None:
    shop = run_context(tmp_path, ScriptedModel({PROMPT: [reply("No.", finish="refusal")]}))
    result = materialized(shop, small_recipe(), USER_PROFILES)["user_profiles"]
    assert shortfall_message(result, AMEMGYM).startswith(
        "Only 0 of 2 users passed user_profiles and the reserve is used up; raise num_reserve"
    )


def test_what_a_stage_begins_ahead_is_all_of_the_run_that_it_does_not_need_whatever_the_order_of_assets() -> None:
    stages = {stage.name: stage for stage in AMEMGYM.stages}
    to_come = stages_to_come(stages["answers"], AMEMGYM.stages, steps=stages.keys() - {"episodes"})
    assert [stage.name for stage in to_come] == ["events", "session_queries", "audits"]
