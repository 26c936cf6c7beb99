"""A prompt on trial: how many replies pass, at once or after an objection, for the shipped version and for another."""

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from assets.amemgym.questions import QUESTIONS
from assets.amemgym.user_profiles import USER_PROFILES
from assets.llm.ports import ModelRequest
from assets.records.base import UserRecord
from pipelines.experiments.prompt_trials.judging import judge_cases, load_cases
from pipelines.experiments.prompt_trials.trial import Side, Trial, run_trial
from prompts.catalogue import load_prompt, override_prompt
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
    with override_prompt(parse_prompt(QUESTION, OTHER)):
        assert load_prompt(QUESTION).version == 2
        assert load_prompt("answers/draft").name == "answers/draft"
    with pytest.raises(AssertionError), override_prompt(parse_prompt(QUESTION, OTHER)):
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
        "session_queries/check_exposure": [lambda asked: {n: o[-1] for n, o in material(asked, "state_choices").items()}],
        "answers/check": [{"choice": 0}],
    }
    verdicts = run(judge_cases(load_cases(), recipe=small_recipe(), model=ScriptedModel(script)))
    assert len(verdicts) == 60
    assert all(verdict.right != verdict.settled for verdict in verdicts)


def test_a_judge_whose_replies_cannot_be_used_is_wrong() -> None:
    script: Script = {"session_queries/check_exposure": ["?"], "answers/check": ["?"]}
    verdicts = run(judge_cases(load_cases(), recipe=small_recipe(), model=ScriptedModel(script)))
    assert not any(verdict.right for verdict in verdicts)
