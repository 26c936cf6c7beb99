"""An assistant learns what to remember from feedback, in the right order, and nobody who is held out is told of."""

import json
from pathlib import Path
from typing import Any

import pytest

from assets.llm.ports import EndpointError, ModelRequest, RequestFailed
from pipelines.experiments.evolution.improvement import letter
from pipelines.experiments.evolution.records import PolicyStep
from pipelines.experiments.evolution.results import FinishedEvolution
from pipelines.experiments.evolution.scores import ALL_CYCLES
from pipelines.resources.cache.reply_cache import CachedModel, open_replies
from tests.evaluation.scripted_evaluation import episode, fenced
from tests.experiments.evolution.scripted_evolution import FIRST, evolution_of, evolved, files, learner, plain

pytestmark = pytest.mark.slow  # an evolution is many evaluations

QUERIES = {question.question_id: question.query for question in episode().questions}
OPTIONS = {option.choice_id: option.answer for question in episode().questions for option in question.answer_choices}


def value(done: FinishedEvolution, metric: str, *, feedback: str, split: str = "seen", cycle: int = ALL_CYCLES) -> float | None:
    """One score of the only protocol that was lived."""
    [found] = [
        score.value
        for score in done.results.scores
        if (score.metric, score.feedback, score.split, score.cycle) == (metric, feedback, split, cycle)
    ]
    return found


def told(step: PolicyStep) -> list[dict[str, Any]]:
    """The questions of a step's feedback."""
    return [asked for summary in json.loads(step.feedback) for asked in summary["question_answer_history"]]


def test_a_policy_is_in_force_in_the_cycle_after_the_one_it_was_made_from(tmp_path: Path) -> None:
    model = learner()
    done = evolved(evolution_of(tmp_path, model, users=("ada",), protocols=("paper",), feedbacks=("complete",)))
    first, second = done.steps
    in_force = [fenced(request.messages[0].content, "kinds") for request in model.asked("memories/update_notes")]

    assert first.before == FIRST
    assert first.cycle == 0
    assert second.before == first.after
    assert second.cycle == 1
    assert first.outcome == "improved"
    assert list(dict.fromkeys(in_force)) == list(dict.fromkeys([FIRST, first.after, second.after]))
    named = [line for line in first.diff if line.startswith("+ ")]
    assert sorted(named) == sorted(f"+ - {plain(name)}" for name in episode().state_schema.choices)


def test_an_evolution_ends_when_its_baselines_fail_not_when_all_is_lived(tmp_path: Path) -> None:
    def gone(_: ModelRequest) -> object:
        raise EndpointError("The endpoint is gone.")

    model = learner({"evaluation_choose_with_state": gone})
    with pytest.raises(EndpointError, match="gone"):
        evolved(evolution_of(tmp_path, model, users=("ada",), protocols=("paper",), feedbacks=("none",)))
    # A whole life has six messages of the user.
    assert len(model.asked("chat")) <= 4


def test_a_user_whose_dialogue_is_not_served_is_given_up_and_the_others_evolve(tmp_path: Path) -> None:
    def refuse(request: ModelRequest) -> object:
        if request.labels.item_id == "ada":
            raise RequestFailed("The prompt is too long.")
        return "Noted."

    done = evolved(evolution_of(tmp_path, learner({"chat": refuse}), protocols=("held-out",), feedbacks=("complete",)))

    assert {answer.user_id for answer in done.answers if answer.reason} == {"ada"}
    assert {turn.user_id for turn in done.turns} == {"ben"}
    assert len(done.steps) == 2


def test_what_the_policy_names_is_remembered_from_the_next_period_on(tmp_path: Path) -> None:
    done = evolved(evolution_of(tmp_path, learner(), protocols=("paper",)))
    recall = {
        feedback: [value(done, "factual_recall", feedback=feedback, cycle=cycle) for cycle in range(3)]
        for feedback in ("none", "question-only", "complete")
    }

    assert recall == {"none": [0, 0, 0], "question-only": [0, 0, 0], "complete": [0, 1, 1]}
    questions_only, complete = [
        gain.change.difference.value for gain in done.results.gains if gain.change.metric == "write_failure"
    ]
    assert questions_only == 0
    assert complete is not None
    assert complete < 0


def test_feedback_letters_name_the_options_as_they_were_shown(tmp_path: Path) -> None:
    model = learner()
    done = evolved(evolution_of(tmp_path, model, users=("ada",), protocols=("paper",), feedbacks=("complete",)))
    shown = {fenced(request.messages[-1].content, "choices") for request in model.asked("evaluation_choose_answer")}
    rows = [answer for answer in done.answers if answer.kind == "question" and answer.cycle < 2]
    asked = [one for step in done.steps for one in told(step)]

    assert len(asked) == len(rows) == 4
    for one, row in zip(asked, rows, strict=True):
        query, *lines = one["question"].split("\n")
        options = dict(line.split(" ", 1) for line in lines)
        assert query == QUERIES[row.item]
        assert options[f"({one['ground_truth']})"] == OPTIONS[row.expected]
        assert options[f"({one['assistant_response']})"] == OPTIONS[row.given]
        assert "\n".join(f"{number}. {text}" for number, text in enumerate(options.values(), start=1)) in shown


def test_letters_go_on_after_z() -> None:
    assert [letter(place) for place in (0, 25, 26, 27, 701, 702)] == ["A", "Z", "AA", "AB", "ZZ", "AAA"]


def test_feedback_tells_the_questions_alone_or_everything(tmp_path: Path) -> None:
    done = evolved(evolution_of(tmp_path, learner(), users=("ada",), protocols=("paper",)))
    steps = {step.arm: json.loads(step.feedback) for step in done.steps if step.cycle == 0}

    assert steps["question-only-paper"] == [{"question_answer_history": [{"question": text} for text in QUERIES.values()]}]
    [whole] = steps["complete-paper"]
    assert whole["user_information_updates"] == episode().periods[0].state
    assert set(whole["question_answer_history"][0]) == {
        "question",
        "assistant_response",
        "ground_truth",
        "retrieved_memories",
    }


def test_no_feedback_tells_of_held_out_users_and_questions(tmp_path: Path) -> None:
    work = evolution_of(tmp_path, learner(), protocols=("held-out",))
    done, manifest = evolved(work), work.manifest
    [out], [(user, [hidden])] = manifest.held_out_users, manifest.held_out_questions.items()
    [taught] = [question for question in episode().questions if question.question_id != hidden]
    complete = [step for step in done.steps if step.arm == "complete-held-out"]

    assert {out, user} == {"ada", "ben"}
    assert {step.learner for step in done.steps} == {"all"}
    assert all(len(json.loads(step.feedback)) <= 1 for step in done.steps)
    assert {asked["question"].partition("\n")[0] for step in done.steps for asked in told(step)} == {taught.query}
    updates = [
        name for step in complete for summary in json.loads(step.feedback) for name in summary["user_information_updates"]
    ]
    assert set(updates) == set(taught.required_info)


def test_learning_shows_on_what_was_told_and_leaking_as_the_rest(tmp_path: Path) -> None:
    done = evolved(evolution_of(tmp_path, learner(), protocols=("held-out",)))
    recall = {
        split: value(done, "factual_recall", feedback="complete", split=split)
        for split in ("seen", "new_questions", "new_users")
    }
    [excess] = [leak.excess.value for leak in done.results.leaks if (leak.feedback, leak.metric) == ("complete", "memory")]

    assert recall["new_questions"] == 0
    assert (recall["seen"] or 0) > 0
    assert (recall["new_users"] or 0) > 0
    assert excess is not None


def test_an_evolution_that_broke_off_goes_on_with_its_policies(tmp_path: Path) -> None:
    undisturbed = evolution_of(tmp_path / "whole", learner())
    assert any(step.outcome == "improved" for step in evolved(undisturbed).steps)
    store = open_replies(tmp_path / "calls.sqlite")
    model = learner(calls_left=80)
    broken = evolution_of(tmp_path / "broken", CachedModel(model, store=store, mode="use"))
    with pytest.raises(EndpointError):
        evolved(broken)
    assert model.asked("evaluation/improve_policy")
    model.calls_left = 1_000_000
    evolved(broken)
    store.close()

    assert files(broken) == files(undisturbed)
    assert len(model.requests) == len({repr(request) for request in model.requests})


def test_plans_that_differ_have_names_that_differ(tmp_path: Path) -> None:
    plans: list[dict[str, Any]] = [
        {},
        {"protocols": ("paper",)},
        {"most_characters": 99},
        {"held_out_users": 0.6},
    ]
    names = {evolution_of(tmp_path, learner(), **plan).manifest.run.run_id for plan in plans}

    assert len(names) == 3  # of two users, one is held out in any case
