"""One user's stage is asked anew when the recipe says so, and nobody else notices."""

from collections.abc import Mapping
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from assets.amemgym.questions import QUESTIONS
from assets.amemgym.records.user import UserRecord
from assets.amemgym.state_schema import STATE_SCHEMA
from assets.amemgym.user_profiles import USER_PROFILES
from assets.engine.stage_runner import StageResult
from assets.recipe.amemgym import AMemGymRecipe
from tests.support.run_contexts import DictRecordCache, materialized, run_context
from tests.support.scripted_model import ScriptedModel
from tests.support.small import persona, small_recipe

FIRST, SECOND = persona(0).user_id, persona(1).user_id
STAGES: tuple[str, ...] = ("user_profiles", "questions", "answers")
QUESTION = "questions/draft"


def test_all_and_one_user_add_up_and_leave_other_stages_as_they_are() -> None:
    recipe = small_recipe(sample=1, again={"all": {"answers": 2}, FIRST: {"answers": 1, "events": 4}})
    samples = {(user, stage): recipe.for_stage(stage, item_id=user).sample for user in (FIRST, SECOND) for stage in STAGES}
    assert samples == {
        (FIRST, "user_profiles"): 1,
        (FIRST, "questions"): 1,
        (FIRST, "answers"): 4,
        (SECOND, "user_profiles"): 1,
        (SECOND, "questions"): 1,
        (SECOND, "answers"): 3,
    }


@given(again=st.dictionaries(st.sampled_from([FIRST, "other"]), st.dictionaries(st.sampled_from(STAGES), st.integers(1, 9))))
def test_only_those_who_are_named_have_another_fingerprint(again: Mapping[str, Mapping[str, int]]) -> None:
    plain, asked = small_recipe(), small_recipe(again=again)
    for user in (FIRST, SECOND):
        for stage in STAGES:
            same = asked.for_stage(stage, item_id=user).item_fingerprint == plain.item_fingerprint
            assert same == (not again.get(user, {}).get(stage))


def test_more_users_ask_the_audits_of_all_anew_where_each_needs_fewer_decoys_and_no_other_stage() -> None:
    def fingerprints(users: int, stage: str) -> str:
        return small_recipe(num_users=users).for_stage(stage, item_id=FIRST).item_fingerprint

    assert fingerprints(20, "answers") == fingerprints(76, "answers")
    assert fingerprints(18, "audits") == fingerprints(20, "audits") != fingerprints(76, "audits")


def test_the_order_in_which_it_is_written_does_not_matter() -> None:
    one = small_recipe(again={"b": {"questions": 1, "answers": 2}, "a": {"events": 1}})
    other = small_recipe(again={"a": {"events": 1}, "b": {"answers": 2, "questions": 1}})
    assert one.fingerprint == other.fingerprint != small_recipe().fingerprint


def made(folder: Path, recipe: AMemGymRecipe, work: DictRecordCache) -> tuple[ScriptedModel, dict[str, StageResult]]:
    model = ScriptedModel()
    shop = run_context(folder, model, record_cache=work)
    return model, materialized(shop, recipe, USER_PROFILES, QUESTIONS, STATE_SCHEMA)


def rows(folder: Path, results: Mapping[str, StageResult], stage: str) -> dict[int, UserRecord]:
    return dict(run_context(folder, ScriptedModel()).snapshots.read(results[stage].ref, stage, record=QUESTIONS.record))


def test_one_users_stage_is_asked_anew_and_the_other_user_is_not_asked_at_all(tmp_path: Path) -> None:
    work = DictRecordCache()
    model, before = made(tmp_path, small_recipe(), work)
    assert len(model.asked(QUESTION)) == 2
    model, after = made(tmp_path, small_recipe(again={FIRST: {"questions": 1}}), work)
    (request,) = model.requests
    assert (request.labels.item_id, request.labels.prompt, request.sample) == (FIRST, QUESTION, 1000)
    assert after["user_profiles"].ref.digest == before["user_profiles"].ref.digest
    assert rows(tmp_path, after, "questions")[1] == rows(tmp_path, before, "questions")[1]


def test_without_the_entry_everything_is_as_it_was_before(tmp_path: Path) -> None:
    work = DictRecordCache()
    _, before = made(tmp_path, small_recipe(), work)
    made(tmp_path, small_recipe(again={"all": {"questions": 1}}), work)
    model, after = made(tmp_path, small_recipe(), work)
    assert model.requests == []
    assert {name: result.ref.digest for name, result in after.items()} == {
        name: result.ref.digest for name, result in before.items()
    }
