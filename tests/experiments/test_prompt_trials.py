"""A prompt on trial: how many replies pass, at once or after an objection, for the shipped version and for another."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from assets.amemgym.questions import QUESTIONS
from assets.amemgym.records.user import UserRecord
from assets.amemgym.user_profiles import USER_PROFILES
from assets.llm.ports import ModelRequest
from pipelines.experiments.prompt_trials.judging import Verdict, calibration, judge_cases, load_cases
from pipelines.experiments.prompt_trials.trial import Side, Trial, run_trial
from prompts.catalogue import load_prompt, override_prompts
from prompts.template import parse_prompt
from tests.support.coroutines import run
from tests.support.honest_replies import Answer, honest, material
from tests.support.run_contexts import materialized, run_context
from tests.support.scripted_model import Script, ScriptedModel
from tests.support.small import small_recipe

QUESTION = "questions/draft"
OTHER = """---
purpose: say it shorter
role: writer
warmth: creative
version: 2
paper: App. C.3
variables: [user_profile, start_date, num_questions, num_states_per_question, num_choices_per_state, num_total_months, language]
---
# system
Ask exactly {{ num_questions }} with exactly {{ num_states_per_question }} of exactly {{ num_choices_per_state }},
for {{ num_total_months }} months from {{ start_date }} in {{ language }}.
# user
{{ user_profile | fenced("user_profile") }}
"""


def profiles(folder: Path, users: int = 2) -> list[Sequence[UserRecord]]:
    shop = run_context(folder, ScriptedModel())
    ref = materialized(shop, small_recipe(num_users=users), USER_PROFILES)["user_profiles"].ref
    return [[one] for one in shop.snapshots.read(ref, "user_profiles", record=USER_PROFILES.record).values()]


def tried(folder: Path, script: Script, *, side: Side | None = None) -> tuple[Trial, ScriptedModel]:
    model, side = ScriptedModel(script), side or Side("shipped", small_recipe())
    return run(run_trial(side, QUESTIONS, profiles(folder), prompt=QUESTION, model=model)), model


def about_the_first(answer: object) -> Answer:
    """This answer to the first user's questions, the honest one to others."""

    def chosen(request: ModelRequest) -> object:
        return answer if "Number0" in str(material(request, "user_profile")) else honest(request)

    return chosen


def test_replies_that_pass_are_counted_as_passed_at_once(tmp_path: Path) -> None:
    trial, _ = tried(tmp_path, {})
    assert (len(trial.tries), trial.at_once(), trial.after_reasking(), trial.never()) == (2, 2, 0, 0)
    assert trial.failures == []


def test_a_reply_that_passes_after_an_objection_is_counted_apart_and_the_objection_is_kept(tmp_path: Path) -> None:
    trial, _ = tried(tmp_path, {QUESTION: [{"questions": []}, honest]})
    assert (trial.at_once(), trial.after_reasking(), trial.never()) == (1, 1, 0)
    ((_, again),) = [tries for tries in trial.tries if len(tries) == 2]
    assert "cannot be used" in (again.objection or "")


def test_a_question_whose_replies_never_pass_is_counted_with_its_user(tmp_path: Path) -> None:
    trial, _ = tried(tmp_path, {QUESTION: [about_the_first({"questions": []})]})
    assert (trial.at_once(), trial.never(), len(trial.failures), trial.users) == (1, 1, 1, 2)


def test_another_version_of_the_prompt_is_asked_and_the_shipped_one_is_back_afterwards(tmp_path: Path) -> None:
    side = Side("shorter", small_recipe(), parse_prompt(QUESTION, OTHER))
    trial, model = tried(tmp_path, {}, side=side)
    assert all(re.match(r"Ask exactly 1 ", request.messages[0].content) for request in model.asked(QUESTION))
    assert trial.at_once() == 2
    assert "Ask exactly" not in load_prompt(QUESTION).system


def test_an_overridden_prompt_leaves_the_others_alone() -> None:
    with override_prompts([parse_prompt(QUESTION, OTHER)]):
        assert load_prompt(QUESTION).version == 2
        assert load_prompt("answers/draft").name == "answers/draft"
    with pytest.raises(AssertionError), override_prompts([parse_prompt(QUESTION, OTHER)]):
        raise AssertionError
    assert load_prompt(QUESTION).purpose != "say it shorter"


def test_the_hand_labelled_cases_are_sixty_and_their_labels_are_among_their_choices() -> None:
    cases = load_cases()
    assert [len(cases.exposure), len(cases.leak), len(cases.recovery)] == [20, 20, 20]
    for case in (*cases.exposure, *cases.leak):
        assert case.truth.keys() == case.choices.keys(), case.query
        assert all(value in ("", *case.choices[name]) for name, value in case.truth.items()), case.query
    for case in cases.recovery:
        assert 0 <= case.truth <= len(case.choices), case.answer


def test_a_judge_who_never_knows_is_right_where_the_text_leaves_it_open_and_nowhere_else() -> None:
    script: Script = {
        "session_queries/probe": [{"1": []}],
        "answers/check": [{"1": 0}],
    }
    verdicts = run(judge_cases(load_cases(), recipe=small_recipe(), model=ScriptedModel(script)))
    assert len(verdicts) == 60
    assert all(verdict.right != verdict.settled for verdict in verdicts)


def test_a_judge_whose_replies_cannot_be_used_is_wrong() -> None:
    script: Script = {"session_queries/probe": ["?"], "answers/check": ["?"]}
    verdicts = run(judge_cases(load_cases(), recipe=small_recipe(), model=ScriptedModel(script)))
    assert not any(verdict.right for verdict in verdicts)


def verdict(gate: str, *, wanted: str = "cannot tell", read: str) -> Verdict:
    return Verdict(gate, "Hi", settled=wanted != "cannot tell", wanted=wanted, read=read)


def test_readings_that_find_what_is_not_there_calibrate_the_gates() -> None:
    right = [verdict(gate, read="cannot tell") for gate in ("exposure", "leak", "recovery") for _ in range(20)]
    head, settings, votes = calibration([*right, verdict("leak", read="diet = vegan")])
    assert head.startswith("For calibrated gates")
    assert "--set gates.judge_error.exposure=0.102 --set gates.judge_error.recovery=0.119" in settings
    assert "exposure 3 on a first text, up to 3 on later ones; recovery 2" in votes


def test_a_judge_that_may_not_tell_errs_on_no_wrong_text_and_one_that_guesses_is_refused() -> None:
    silent = [verdict(gate, wanted="diet = vegan", read="cannot tell") for gate in ("exposure", "leak", "recovery")]
    warning, _, settings, _ = calibration(silent * 20)
    assert "finds what a text tells in 0 of 60 cases" in warning
    assert "--set gates.judge_error.exposure=" in settings
    guessing = [verdict(gate, read="diet = vegan") for gate in ("exposure", "leak", "recovery")]
    assert "it errs too often" in list(calibration(guessing * 20))[1]
