"""A stage ends with exactly as many users as wanted: those who fail are told and replaced from the reserve."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from assets.answers import ANSWERS
from assets.audits import AUDITS
from assets.episodes import EPISODES
from assets.events import EVENTS
from assets.line import StageResult
from assets.ports import EndpointError, ModelRequest, StageProgress
from assets.questions import QUESTIONS
from assets.records.base import StageName
from assets.records.episode import Episode
from assets.records.failure import Failure
from assets.records.profile import UserProfile
from assets.records.question import QuestionSet
from assets.session_queries import SESSION_QUERIES
from assets.stage_kind import Stage
from assets.state_schema import STATE_SCHEMA
from assets.state_trajectory import STATE_TRAJECTORY
from assets.user_profiles import USER_PROFILES
from assets.workshop import Workshop
from tests.support import (
    Answer,
    MemoryWork,
    Script,
    ScriptedModel,
    honest,
    line_of,
    materialized,
    persona,
    reply,
    run,
    sampled,
    small_recipe,
    workshop,
)

ALL = (USER_PROFILES, QUESTIONS, STATE_SCHEMA, STATE_TRAJECTORY, EVENTS, SESSION_QUERIES, ANSWERS, AUDITS, EPISODES)
PROFILE, QUESTION = "user_profiles/complete", "questions/draft"


def refusing(*numbers: int) -> Answer:
    """Refuses whatever is asked about these personas."""
    return about(numbers, lambda _: reply("No.", finish="refusal"))


def about(numbers: tuple[int, ...], answer: Answer, *, otherwise: Answer = honest) -> Answer:
    """This answer where one of these personas is named, the other one elsewhere."""

    def chosen(request: ModelRequest) -> object:
        named = {int(number) for number in re.findall(r"Ada Number(\d+)", str(request.messages))}
        return answer(request) if named & set(numbers) else otherwise(request)

    return chosen


def positions(shop: Workshop, result: StageResult, stage: Stage[Any]) -> list[int]:
    return sorted(shop.snapshots.read(result.ref, stage.name, record=stage.record))


def failures(shop: Workshop, result: StageResult) -> list[Failure]:
    return shop.snapshots.failures(result.ref)


def passed(
    folder: Path, script: Script, *stages: Stage[Any], users: int = 2, reserve: int = 2, **changes: Any
) -> tuple[dict[StageName, StageResult], Workshop, ScriptedModel]:
    model = ScriptedModel(script)
    shop = workshop(folder, model, **changes)
    results = materialized(shop, small_recipe(num_users=users, num_reserve=reserve), *stages)
    return results, shop, model


def test_users_who_pass_need_no_reserve(tmp_path: Path) -> None:
    results, shop, model = passed(tmp_path, {}, USER_PROFILES)
    result = results["user_profiles"]
    assert positions(shop, result, USER_PROFILES) == [0, 1]
    assert (result.ref.users, result.wanted, result.tried, result.ref.failures.users) == (2, 2, 2, 0)
    assert (len(model.requests), result.ref.usage["user_profiles"].calls) == (2, 2)


def test_a_user_who_fails_is_replaced_by_the_next_persona(tmp_path: Path) -> None:
    results, shop, _ = passed(tmp_path, {PROFILE: [refusing(0)]}, USER_PROFILES)
    assert positions(shop, results["user_profiles"], USER_PROFILES) == [1, 2]


def test_a_failure_is_told_with_stage_reason_and_last_reply(tmp_path: Path) -> None:
    results, shop, _ = passed(tmp_path, {QUESTION: [refusing(1)]}, USER_PROFILES, QUESTIONS)
    (failure,) = failures(shop, results["questions"])
    assert (failure.user_id, failure.position) == (persona(1).user_id, 1)
    assert (failure.stage, failure.reason, failure.last_reply) == ("questions", "refused", "No.")
    assert failure.message.startswith("questions/draft: The request was refused")


def test_a_replacement_passes_the_earlier_stages_and_its_rows_are_carried(tmp_path: Path) -> None:
    results, shop, model = passed(tmp_path, {QUESTION: [refusing(0)]}, USER_PROFILES, QUESTIONS)
    ref = results["questions"].ref
    assert sorted(shop.snapshots.read(ref, "questions", record=QuestionSet)) == [1, 2]
    carried = shop.snapshots.read(ref, "user_profiles", record=UserProfile)
    assert {position: profile.user_id for position, profile in carried.items()} == {2: persona(2).user_id}
    assert len(model.asked(PROFILE)) == 3


def test_a_later_stage_goes_on_with_the_replacement_and_without_the_failed_user(tmp_path: Path) -> None:
    results, shop, model = passed(tmp_path, {QUESTION: [refusing(0)]}, USER_PROFILES, QUESTIONS, STATE_SCHEMA)
    result = results["state_schema"]
    assert positions(shop, result, STATE_SCHEMA) == [1, 2]
    assert [failure.position for failure in failures(shop, result)] == [0]
    assert {part.stage for part in result.ref.parts} == {"state_schema"}
    assert result.tried == 2
    assert len(model.asked(PROFILE)) == 3


def test_what_several_stages_need_of_a_replacement_is_made_once(tmp_path: Path) -> None:
    results, _, model = passed(tmp_path, {"state_schema/refine": [refusing(0)]}, USER_PROFILES, QUESTIONS, STATE_SCHEMA)
    assert len(model.asked(PROFILE)) == len(model.asked(QUESTION)) == 3
    assert sum(result.meter.usage.calls for result in results.values()) == len(model.requests)
    carried = [(part.stage, part.first) for part in results["state_schema"].ref.parts if part.stage != "state_schema"]
    assert carried == [("questions", 2), ("user_profiles", 2)]


def test_nothing_is_carried_of_a_replacement_who_fails_too(tmp_path: Path) -> None:
    results, shop, _ = passed(tmp_path, {QUESTION: [refusing(0, 2)]}, USER_PROFILES, QUESTIONS)
    assert list(shop.snapshots.read(results["questions"].ref, "user_profiles", record=UserProfile)) == [3]


def test_replacements_may_fail_too(tmp_path: Path) -> None:
    results, shop, _ = passed(tmp_path, {PROFILE: [refusing(0, 2)]}, USER_PROFILES)
    assert positions(shop, results["user_profiles"], USER_PROFILES) == [1, 3]
    assert [failure.position for failure in failures(shop, results["user_profiles"])] == [0, 2]


def test_when_the_reserve_is_used_up_fewer_users_remain_and_all_failures_are_told(tmp_path: Path) -> None:
    results, shop, _ = passed(tmp_path, {PROFILE: [refusing(0, 2, 3)]}, USER_PROFILES)
    result = results["user_profiles"]
    assert positions(shop, result, USER_PROFILES) == [1]
    assert (result.wanted, result.tried) == (2, 4)
    assert [failure.position for failure in failures(shop, result)] == [0, 2, 3]


def test_when_everybody_fails_the_snapshot_is_empty(tmp_path: Path) -> None:
    results, _, _ = passed(tmp_path, {PROFILE: [refusing(0, 1, 2, 3)]}, USER_PROFILES)
    assert (results["user_profiles"].ref.users, results["user_profiles"].ref.failures.users) == (0, 4)


FAILING = [(), (0,), (4,), (0, 1, 2), (1, 3, 5), (0, 5, 6), (0, 1, 2, 3)]


@pytest.mark.parametrize("failing", FAILING, ids=str)
def test_the_users_left_are_the_first_personas_that_pass_whatever_the_concurrency(
    tmp_path: Path, failing: tuple[int, ...]
) -> None:
    digests: set[str] = set()
    for users_at_once, users_per_part in ((1, 200), (32, 200), (2, 1)):
        folder = tmp_path / f"{users_at_once}-{users_per_part}"
        size = {"users_at_once": users_at_once, "users_per_part": users_per_part}
        results, shop, _ = passed(folder, {PROFILE: [refusing(*failing)]}, USER_PROFILES, users=4, reserve=4, **size)
        expected = [position for position in range(8) if position not in failing][:4]
        assert positions(shop, results["user_profiles"], USER_PROFILES) == expected
        told = {failure.position for failure in failures(shop, results["user_profiles"])}
        assert told == {position for position in failing if position < expected[-1]}
        digests.add(results["user_profiles"].ref.digest)
    assert len(digests) == 1


def test_a_rerun_over_the_same_work_asks_no_model(tmp_path: Path) -> None:
    work = MemoryWork()
    first, _, model = passed(tmp_path / "a", {}, USER_PROFILES, QUESTIONS, work=work)
    again, _, silent = passed(tmp_path / "b", {}, USER_PROFILES, QUESTIONS, work=work)
    assert len(model.requests) == 4
    assert silent.requests == []
    assert [result.ref for result in again.values()] == [result.ref for result in first.values()]
    assert (again["questions"].meter.repeated, first["questions"].meter.repeated) == (2, 0)


def test_another_recipe_for_the_same_users_is_worked_anew(tmp_path: Path) -> None:
    model, work = ScriptedModel(), MemoryWork()
    shop = workshop(tmp_path, model, work=work)
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


def test_what_was_finished_before_the_run_ended_is_kept(tmp_path: Path) -> None:
    work, script = MemoryWork(), {PROFILE: [about((1,), breaking(EndpointError("The key is wrong.")))]}
    with pytest.raises(EndpointError):
        passed(tmp_path / "a", script, USER_PROFILES, work=work, users_at_once=1)
    results, _, model = passed(tmp_path / "b", {}, USER_PROFILES, work=work)
    assert (results["user_profiles"].ref.users, len(model.requests)) == (2, 1)


def test_progress_is_reported_to_its_end(tmp_path: Path) -> None:
    seen: list[StageProgress] = []
    report: Callable[[StageProgress], None] = seen.append
    passed(tmp_path, {PROFILE: [refusing(0)]}, USER_PROFILES, report=report)
    last = seen[-1]
    assert (last.stage, last.unit, last.done, last.total, last.failed) == ("user_profiles", "small", 2, 2, 1)


def test_calls_carry_the_stage_and_user_they_are_for(tmp_path: Path) -> None:
    _, _, model = passed(tmp_path, {}, USER_PROFILES)
    labels = sorted((request.labels.stage, request.labels.user_id) for request in model.requests)
    assert labels == [("user_profiles", persona(number).user_id) for number in (0, 1)]


@pytest.mark.parametrize("prompt", [QUESTION, "events/elaborate", "session_queries/check_exposure", "answers/draft"])
def test_the_whole_chain_ends_with_the_users_wanted_wherever_one_fails(tmp_path: Path, prompt: str) -> None:
    by_user = {"answers/draft": refusing_user(0), "session_queries/check_exposure": refusing_user(0)}
    results, shop, _ = passed(tmp_path, {prompt: [by_user.get(prompt, refusing(0))]}, *ALL)
    rows = shop.snapshots.read(results["episodes"].ref, "episodes", record=Episode)
    assert {position: episode.user_id for position, episode in rows.items()} == {n: persona(n).user_id for n in (1, 2)}
    assert [(failure.position, failure.stage) for failure in failures(shop, results["episodes"])] == [(0, prompt.split("/")[0])]
    assert set(results["episodes"].ref.usage) == {stage.name for stage in ALL}


def refusing_user(number: int) -> Answer:
    """Refuses whatever is asked for this user; some prompts do not name the person."""

    def answer(request: ModelRequest) -> object:
        own = request.labels.user_id == persona(number).user_id
        return reply("No.", finish="refusal") if own else honest(request)

    return answer


def test_two_users_who_fail_at_different_stages_are_both_replaced_in_the_end(tmp_path: Path) -> None:
    script: Script = {"events/elaborate": [refusing_user(0)], "answers/draft": [refusing_user(1)]}
    results, shop, _ = passed(tmp_path, script, *ALL)
    assert positions(shop, results["episodes"], EPISODES) == [2, 3]
    told = [(failure.position, failure.stage) for failure in failures(shop, results["episodes"])]
    assert told == [(0, "events"), (1, "answers")]
    lost = {name: [failure.position for failure in result.lost] for name, result in results.items() if result.lost}
    assert lost == {"events": [0], "answers": [1]}
    assert "No." not in results["episodes"].ref.model_dump_json()


def test_a_unit_without_users_makes_an_empty_snapshot(tmp_path: Path) -> None:
    shop, recipe = workshop(tmp_path, ScriptedModel()), small_recipe()
    line = line_of(USER_PROFILES, shop, recipe, {"personas": sampled(shop, recipe)})
    line.unit = type(line.unit)("small", "small", range(0), range(0))
    result = run(line.run())
    assert (result.ref.users, result.ref.parts) == (0, ())


def test_a_stages_code_version_changes_with_its_version_and_its_prompts() -> None:
    def version(number: int = 1, *prompts: str) -> str:
        return Stage(name="questions", record=QuestionSet, make=QUESTIONS.make, prompts=prompts, version=number).code_version

    assert len({version(), version(2), version(1, QUESTION), version(1, PROFILE)}) == 4
    assert version() == version()
