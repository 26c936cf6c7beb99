"""Judges see the finished questions in calls of their own: pairs in both directions, and guesses."""

from collections import Counter

import pytest

from assets.amemgym.answers.stage import write_answers
from assets.amemgym.audits.stage import audit_user
from assets.amemgym.records.audit import Judgement, UserAudit
from assets.llm.ports import ModelRequest
from assets.records.base import ItemFailed
from tests.assets.amemgym.audited import CHOOSE, EXPOSURE, answered, audited, recipe, sessions
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import Answer, case_of, honest, query_of, reading, situation_of
from tests.support.scenario import DIET, EVENINGS
from tests.support.scripted_model import Script, ScriptedModel

GUESSES = ("options_only", "question_only", "profile_only")


def of(audit: UserAudit, *probes: str) -> list[Judgement]:
    return [one for one in audit.judgements if one.probe in probes]


def test_pairs_are_recovered_in_both_directions_once_where_the_first_judge_is_right() -> None:
    audit, _ = audited(pairs=4)
    for probe in ("state_from_answer", "answer_from_state"):
        own = of(audit, probe)
        assert [(one.chosen == one.expected, one.sample) for one in own] == [(True, 0)] * 4
        assert len({(one.question_id, one.period) for one in own}) == 4


def test_pairs_are_drawn_from_all_questions_at_the_ends_of_all_periods() -> None:
    golden = {question.question_id: question.golden for question in answered().questions}
    audit, model = audited(pairs=100, decoys=0)
    own = of(audit, "answer_from_state")
    assert {(one.question_id, one.period, one.expected) for one in own} == {
        (question, period, key) for question, keys in golden.items() for period, key in enumerate(keys)
    }
    assert len(model.asked(CHOOSE)) == sum(len(set(keys)) for keys in golden.values())


def test_finished_queries_are_read_again_for_every_variable() -> None:
    def leaking(request: ModelRequest) -> object:
        told = query_of(request)
        return reading({**told, DIET: "vegetarian"}) if list(told) == [EVENINGS] else honest(request)

    audit, _ = audited({EXPOSURE: [leaking]}, decoys=0, pairs=10)
    assert {one.item_id: one.leaked for one in audit.queries if one.leaked} == {
        "s00-02": {DIET: "vegetarian"},
        "s02-01": {DIET: "vegetarian"},
    }
    assert all(one.recovered for one in audit.queries)


def test_the_recipe_may_name_a_model_of_its_own_for_the_audit() -> None:
    _, model = audited(pairs=2, decoys=1, model="another")
    audits = [request for request in model.requests if request.labels.prompt.startswith("audits/")]
    assert {request.model for request in audits} == {"another"}
    assert "another" in {request.model for request in model.asked(CHOOSE)}


def test_pairs_are_those_that_somebody_lives_through() -> None:
    audit, _ = audited(pairs=100)
    lived = {one.choice_id for question in answered().questions for one in question.choices if one.type == "experience"}
    assert {one.expected for one in of(audit, "state_from_answer")} == lived


def missing(times: int) -> Answer:
    """A judge that cannot tell for the first so many readings of each situation."""
    seen = Counter[str]()

    def answer(request: ModelRequest) -> object:
        situation = str(situation_of(request))
        seen[situation] += 1
        return {"1": 0} if seen[situation] <= times else honest(request)

    return answer


def test_a_pair_that_the_first_judge_misses_is_read_again() -> None:
    audit, _ = audited({CHOOSE: [missing(1)]}, decoys=0, pairs=1, tries=4, min_ceiling=0.7)
    own = of(audit, "answer_from_state")
    assert [(one.chosen == one.expected, one.sample) for one in own] == [(False, 0), (True, 1), (True, 2), (True, 3)]


def test_an_ambiguous_pair_gives_the_user_up_with_its_answer() -> None:
    with pytest.raises(ItemFailed, match=r"Perfect memory would score 0\.00 on 1 question drawn") as failed:
        audited({CHOOSE: [missing(3)]}, decoys=0, pairs=1)
    assert failed.value.reason == "ambiguous"
    assert {(vote.gate, vote.accepted) for vote in failed.value.gate_records} == {
        ("answer_from_state", False),
        ("state_from_answer", True),
    }
    assert failed.value.last_reply in {one.answer for question in answered().questions for one in question.choices}


@pytest.mark.parametrize(("times", "least", "passes"), [(2, 0.5, True), (2, 0.6, False), (1, 0.9, True), (3, 0.0, True)])
def test_the_recipe_says_what_perfect_memory_must_score(times: int, least: float, passes: bool) -> None:
    script: Script = {CHOOSE: [missing(times)]}
    if passes:
        audited(script, decoys=0, pairs=1, min_ceiling=least)
    else:
        with pytest.raises(ItemFailed, match=f"audit.min_ceiling is {least}"):
            audited(script, decoys=0, pairs=1, min_ceiling=least)


def test_a_guess_counts_against_the_right_option_of_every_period() -> None:
    audit, model = audited(decoys=0, pairs=0)
    golden = {question.question_id: question.golden for question in answered().questions}
    for probe in GUESSES:
        assert len(model.asked(f"audits/{probe}")) == 2
        for question_id, keys in golden.items():
            own = [one for one in of(audit, probe) if one.question_id == question_id]
            assert [(one.period, one.expected) for one in own] == list(enumerate(keys))
            assert len({one.chosen for one in own}) == 1


def test_guessers_see_what_they_may_see_and_nothing_else() -> None:
    _, model = audited(decoys=0, pairs=0)
    for probe, tags in zip(GUESSES, [(), ("question",), ("question", "user_profile")], strict=True):
        for request in model.asked(f"audits/{probe}"):
            shown = request.messages[1].content
            seen = [*case_of(request), *(["user_profile"] if "<user_profile>" in shown else [])]
            assert [tag for tag in seen if tag != "options"] == list(tags)
            assert sorted(case_of(request)["options"].values()) in [
                sorted(one.answer for one in question.choices) for question in answered().questions
            ]


def test_every_guess_sees_the_options_in_an_order_of_its_own() -> None:
    _, model = audited(decoys=0, pairs=0, guesses=8)
    orders = [str(case_of(request)["options"]) for request in model.asked("audits/options_only")]
    assert len(set(orders)) > len(orders) / 2
    assert len({(request.sample, request.messages) for request in model.requests}) == len(model.requests) == 2 * 3 * 8


def test_a_guess_out_of_range_is_sent_back() -> None:
    _, model = audited({"audits/options_only": [{"1": 9}, honest]}, decoys=0, pairs=0)
    assert ["Input should be less than or equal to 4" in told for told in model.objections("audits/options_only")] == [True]


def test_an_audit_that_is_switched_off_asks_nothing() -> None:
    audit, model = audited(enabled=False)
    assert (audit, model.requests) == (UserAudit(user_id=scenario.USER_ID), [])


def test_the_same_replies_make_the_same_audit_and_another_seed_another() -> None:
    first, again = audited()[0], audited()[0]
    assert first == again
    parts = (scenario.profile(), scenario.schema(), scenario.trajectory(), sessions())
    moved = scenario.varied(recipe(), seed=7)
    answers = run(write_answers(scenario.schema(), scenario.trajectory(), recipe=moved, model=ScriptedModel()))
    assert run(audit_user(*parts, answers, recipe=moved, model=ScriptedModel())) != first
