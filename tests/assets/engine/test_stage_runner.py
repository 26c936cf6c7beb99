"""A stage works its users once, tells how far it is, and ends early only for a problem of the run."""

import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.amemgym.questions import QUESTIONS
from assets.amemgym.records.question import QuestionSet
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.ports import StageProgress
from assets.engine.stage import Stage
from assets.llm.ports import EndpointError, ModelRequest
from tests.assets.engine.stage_runs import PROFILE, QUESTION, about, passed, positions, refusing
from tests.support.coroutines import run
from tests.support.honest_replies import Answer
from tests.support.run_contexts import DictRecordCache, materialized, run_context, runner_of, sampled
from tests.support.scripted_model import ScriptedModel
from tests.support.small import persona, small_recipe


def test_users_who_pass_need_no_reserve(tmp_path: Path) -> None:
    results, shop, model = passed(tmp_path, {}, USER_PROFILES)
    result = results["user_profiles"]
    assert positions(shop, result, USER_PROFILES) == [0, 1]
    assert result.ref.items == 2
    assert result.wanted == 2
    assert result.tried == 2
    assert result.ref.failures.items == 0
    assert (len(model.requests), result.ref.usage.calls) == (2, 2)


def test_calls_of_an_earlier_stage_rank_before_those_of_a_later_one(tmp_path: Path) -> None:
    _, _, model = passed(tmp_path, {}, USER_PROFILES, QUESTIONS, stage_names=AMEMGYM.stage_names)
    ranks = {request.labels.stage: request.labels.rank for request in model.requests}
    assert 0 < ranks["user_profiles"] < ranks["questions"]


def test_a_rerun_over_the_same_work_asks_no_model(tmp_path: Path) -> None:
    work = DictRecordCache()
    first, _, model = passed(tmp_path / "a", {}, USER_PROFILES, QUESTIONS, record_cache=work)
    again, _, silent = passed(tmp_path / "b", {}, USER_PROFILES, QUESTIONS, record_cache=work)
    assert len(model.requests) == 4
    assert silent.requests == []
    assert [result.ref for result in again.values()] == [result.ref for result in first.values()]
    assert (again["questions"].meter.repeated, first["questions"].meter.repeated) == (2, 0)


def test_another_recipe_for_the_same_users_is_worked_anew(tmp_path: Path) -> None:
    model, work = ScriptedModel(), DictRecordCache()
    shop = run_context(tmp_path, model, record_cache=work)
    materialized(shop, small_recipe(), USER_PROFILES)
    materialized(shop, small_recipe(num_users=3), USER_PROFILES)
    assert len(model.requests) == 3
    materialized(shop, small_recipe(seed=7), USER_PROFILES)
    assert len(model.requests) == 5


def breaking(problem: Exception) -> Answer:
    def answer(_: ModelRequest) -> object:
        raise problem

    return answer


@pytest.mark.parametrize(
    "problem", [EndpointError("The key is wrong."), OSError("No space left."), TimeoutError("Too slow.")], ids=repr
)
def test_a_problem_of_the_run_ends_it_as_what_it_is(tmp_path: Path, problem: Exception) -> None:
    with pytest.raises(type(problem), match=str(problem)):
        passed(tmp_path, {PROFILE: [about((1,), breaking(problem))]}, USER_PROFILES)


def test_a_problem_of_the_run_is_not_hidden_by_a_user_who_fails_at_once(tmp_path: Path) -> None:
    answer = about((1,), breaking(EndpointError("The key is wrong.")), otherwise=refusing(0))
    with pytest.raises(EndpointError):
        passed(tmp_path, {PROFILE: [answer]}, USER_PROFILES)


def test_defects_of_several_users_are_all_told_with_the_lines_that_raised_them(tmp_path: Path) -> None:
    answer = about((0, 2), breaking(KeyError("first")), otherwise=breaking(ValueError("second")))
    with pytest.raises((KeyError, ValueError)) as raised:
        passed(tmp_path, {PROFILE: [answer]}, USER_PROFILES)
    told = "".join(traceback.format_exception_only(raised.value))
    assert (told.count("KeyError: 'first'"), told.count("ValueError: second")) == (1, 1)
    assert told.count("raise problem") >= 2


def test_an_error_that_the_user_can_mend_comes_before_a_defect_of_another_user(tmp_path: Path) -> None:
    answer = about((1,), breaking(EndpointError("The key is wrong.")), otherwise=breaking(KeyError("first")))
    with pytest.raises(EndpointError, match=r"The key is wrong\."):
        passed(tmp_path, {PROFILE: [answer]}, USER_PROFILES)


def test_what_was_finished_before_the_run_ended_is_kept(tmp_path: Path) -> None:
    work, script = DictRecordCache(), {PROFILE: [about((1,), breaking(EndpointError("The key is wrong.")))]}
    with pytest.raises(EndpointError):
        passed(tmp_path / "a", script, USER_PROFILES, record_cache=work, items_at_once=1)
    results, _, model = passed(tmp_path / "b", {}, USER_PROFILES, record_cache=work)
    assert (results["user_profiles"].ref.items, len(model.requests)) == (2, 1)


def test_progress_is_reported_to_its_end(tmp_path: Path) -> None:
    seen: list[StageProgress] = []
    report: Callable[[StageProgress], None] = seen.append
    passed(tmp_path, {PROFILE: [refusing(0)]}, USER_PROFILES, report=report)
    last = seen[-1]
    assert last.stage == "user_profiles"
    assert last.unit == "small"
    assert last.done == 2
    assert last.total == 2
    assert len(last.given_up) == 1


def test_calls_carry_the_stage_and_user_they_are_for(tmp_path: Path) -> None:
    _, _, model = passed(tmp_path, {}, USER_PROFILES)
    labels = sorted((request.labels.stage, request.labels.item_id) for request in model.requests)
    assert labels == [("user_profiles", persona(number).user_id) for number in (0, 1)]


def test_a_unit_without_users_makes_an_empty_snapshot(tmp_path: Path) -> None:
    shop, recipe = run_context(tmp_path, ScriptedModel()), small_recipe()
    line = runner_of(USER_PROFILES, shop, recipe, {"personas": sampled(shop, recipe)})
    line.unit = type(line.unit)("small", "small", range(0), range(0))
    result = run(line.run())
    assert (result.ref.items, result.ref.parts) == (0, ())


def test_a_stages_code_version_changes_with_its_version_and_its_prompts() -> None:
    def version(number: int = 1, *prompts: str) -> str:
        return Stage(name="questions", record=QuestionSet, make=QUESTIONS.make, prompts=prompts, version=number).code_version

    assert len({version(), version(2), version(1, QUESTION), version(1, PROFILE)}) == 4
    assert version() == version()
