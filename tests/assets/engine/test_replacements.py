"""Users who fail are told and replaced from the reserve, at whatever stage and with whatever concurrency."""

from pathlib import Path

import pytest

from assets.amemgym.answers.stage import ANSWERS
from assets.amemgym.audits.stage import AUDITS
from assets.amemgym.episodes import EPISODES
from assets.amemgym.events import EVENTS
from assets.amemgym.questions import QUESTIONS
from assets.amemgym.records.episode import Episode
from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import QuestionSet
from assets.amemgym.session_queries.stage import SESSION_QUERIES
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.state_trajectory.stage import STATE_TRAJECTORY
from assets.amemgym.user_profiles import USER_PROFILES
from assets.llm.ports import ModelRequest
from tests.assets.engine.stage_runs import PROFILE, QUESTION, failures, passed, positions, refusing
from tests.support.honest_replies import Answer, honest
from tests.support.scripted_model import Script, reply
from tests.support.small import persona

ALL = (USER_PROFILES, QUESTIONS, STATE_SCHEMA, STATE_TRAJECTORY, EVENTS, SESSION_QUERIES, ANSWERS, AUDITS, EPISODES)


def test_a_user_who_fails_is_replaced_by_the_next_persona(tmp_path: Path) -> None:
    results, shop, _ = passed(tmp_path, {PROFILE: [refusing(0)]}, USER_PROFILES)
    assert positions(shop, results["user_profiles"], USER_PROFILES) == [1, 2]


def test_a_failure_is_told_with_stage_reason_and_last_reply(tmp_path: Path) -> None:
    results, shop, _ = passed(tmp_path, {QUESTION: [refusing(1)]}, USER_PROFILES, QUESTIONS)
    (failure,) = failures(shop, results["questions"])
    assert (failure.item_id, failure.position) == (persona(1).user_id, 1)
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
    assert (results["user_profiles"].ref.items, results["user_profiles"].ref.failures.items) == (0, 4)


FAILING = [(), (0,), (4,), (0, 1, 2), (1, 3, 5), (0, 5, 6), (0, 1, 2, 3)]


@pytest.mark.parametrize("failing", FAILING, ids=str)
def test_the_users_left_are_the_first_personas_that_pass_whatever_the_concurrency(
    tmp_path: Path, failing: tuple[int, ...]
) -> None:
    digests: set[str] = set()
    for items_at_once, items_per_part in ((1, 200), (32, 200), (2, 1)):
        folder = tmp_path / f"{items_at_once}-{items_per_part}"
        size = {"items_at_once": items_at_once, "items_per_part": items_per_part}
        results, shop, _ = passed(folder, {PROFILE: [refusing(*failing)]}, USER_PROFILES, users=4, reserve=4, **size)
        expected = [position for position in range(8) if position not in failing][:4]
        assert positions(shop, results["user_profiles"], USER_PROFILES) == expected
        told = {failure.position for failure in failures(shop, results["user_profiles"])}
        assert told == {position for position in failing if position < expected[-1]}
        digests.add(results["user_profiles"].ref.digest)
    assert len(digests) == 1


@pytest.mark.parametrize("prompt", [QUESTION, "events/elaborate", "session_queries/probe", "answers/draft"])
def test_the_whole_chain_ends_with_the_users_wanted_wherever_one_fails(tmp_path: Path, prompt: str) -> None:
    by_user = {"answers/draft": refusing_user(0), "session_queries/probe": refusing_user(0)}
    results, shop, _ = passed(tmp_path, {prompt: [by_user.get(prompt, refusing(0))]}, *ALL)
    rows = shop.snapshots.read(results["episodes"].ref, "episodes", record=Episode)
    assert {position: episode.user_id for position, episode in rows.items()} == {n: persona(n).user_id for n in (1, 2)}
    assert [(failure.position, failure.stage) for failure in failures(shop, results["episodes"])] == [(0, prompt.split("/")[0])]
    assert all(results[stage.name].ref.usage.calls for stage in ALL if stage.prompts)


def refusing_user(number: int) -> Answer:
    """Refuses whatever is asked for this user; some prompts do not name the person."""

    def answer(request: ModelRequest) -> object:
        own = request.labels.item_id == persona(number).user_id
        return reply("No.", finish="refusal") if own else honest(request)

    return answer


def test_two_users_who_fail_at_different_stages_are_both_replaced_in_the_end(tmp_path: Path) -> None:
    script: Script = {"events/elaborate": [refusing_user(0)], "answers/draft": [refusing_user(1)]}
    results, shop, _ = passed(tmp_path, script, *ALL)
    assert positions(shop, results["episodes"], EPISODES) == [2, 3]
    told = [(failure.position, failure.stage) for failure in failures(shop, results["episodes"])]
    assert told == [(0, "events"), (1, "answers")]
    failed = {name: [failure.position for failure in result.failed] for name, result in results.items() if result.failed}
    assert failed == {"events": [0], "answers": [1]}
    assert "No." not in results["episodes"].ref.model_dump_json()
