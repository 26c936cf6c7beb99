"""Each variant has an answer that a judge recognizes, and each period's golden choice is the one of its state."""

import json
from datetime import date

import pytest
from dateutil.relativedelta import relativedelta
from hypothesis import given
from hypothesis import strategies as st

from assets.answers import write_answers
from assets.ports import ModelRequest
from assets.records.answer import AnswerSet
from assets.records.failure import UserFailed
from assets.records.gate_policy import GatePolicy
from assets.variants import lived, variants_of
from tests import scenario
from tests.scenario import CHOICES, DIET, GOAL
from tests.support import (
    PLAIN_GATES,
    START,
    Answer,
    Reply,
    Script,
    ScriptedModel,
    honest,
    material,
    run,
    schema_of,
    small_recipe,
    trajectory_of,
)

DRAFT, CHECK, REFINE, CHOOSE = "answers/draft", "answers/check", "answers/refine", "answers/choose"
FIRST_QUESTION = scenario.schema().questions[0]


def written(script: Script | None = None, *, minimum: int = 2, **gates: int | bool) -> tuple[AnswerSet, ScriptedModel]:
    policy = GatePolicy.model_validate({**PLAIN_GATES, **gates})
    model = ScriptedModel(script or {})
    recipe = scenario.recipe(gates=policy, min_variants_per_question=minimum)
    return run(write_answers(scenario.schema(), scenario.trajectory(), recipe=recipe, model=model)), model


def of_first(*replies: Reply) -> Answer:
    """Replies in turn about the first question, of which the last is repeated; honest ones about others."""
    left = list(replies)

    def answer(request: ModelRequest) -> object:
        if material(request, "question") != FIRST_QUESTION.text:
            return honest(request)
        reply = left.pop(0) if len(left) > 1 else left[0]
        return reply(request) if callable(reply) else reply

    return answer


def test_the_golden_choice_of_every_period_is_the_one_of_its_state() -> None:
    record, _ = written()
    assert [answers.question_id for answers in record.questions] == ["q01", "q02"]
    for question, answers in zip(scenario.schema().questions, record.questions, strict=True):
        states = {choice.choice_id: choice.state for choice in answers.choices}
        assert [states[golden] for golden in answers.golden] == lived(question, scenario.trajectory())


def test_each_answer_belongs_to_its_variant() -> None:
    record, _ = written()
    for question, answers in zip(scenario.schema().questions, record.questions, strict=True):
        for choice in answers.choices:
            assert json.loads(choice.answer) == dict(zip(question.required_info, choice.state, strict=True))


def test_lived_variants_come_first_and_random_ones_fill_up_to_the_minimum() -> None:
    recipe = scenario.recipe(min_variants_per_question=4)
    variants = variants_of(FIRST_QUESTION, scenario.schema(), scenario.trajectory(), recipe=recipe)
    assert [variant.type for variant in variants] == ["experience", "experience", "random", "random"]
    assert [variant.values for variant in variants][:2] == [
        ("eats everything", "first 5 km"),
        ("vegetarian", "half-marathon (21,1 km)"),
    ]
    record, _ = written(minimum=4)
    assert sorted(choice.type for choice in record.questions[0].choices) == ["experience", "experience", "random", "random"]


@given(
    path=st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz")), min_size=1, max_size=8),
    minimum=st.integers(2, 9),
    seed=st.integers(0),
)
def test_variants_are_distinct_and_cover_what_was_lived(path: list[tuple[str, str]], minimum: int, seed: int) -> None:
    schema = schema_of({"a": "xyz", "b": "xyz"})
    ends = [START + relativedelta(months=index) for index in range(len(path))]
    trajectory = trajectory_of([dict(zip("ab", values, strict=True)) for values in path], ends=ends)
    recipe = small_recipe(num_choices_per_state=3, min_variants_per_question=minimum, seed=seed)
    variants = variants_of(schema.questions[0], schema, trajectory, recipe=recipe)
    values = [variant.values for variant in variants]
    assert len(set(values)) == len(values) == max(minimum, len(set(path)))
    assert {variant.values for variant in variants if variant.type == "experience"} == set(path)


def test_options_are_shown_in_an_order_of_the_seed_and_named_by_it() -> None:
    record, _ = written(minimum=4)
    assert [choice.choice_id for choice in record.questions[0].choices] == ["q01-c1", "q01-c2", "q01-c3", "q01-c4"]
    places = {written_place(seed) for seed in range(8)}
    assert len(places) > 1


def written_place(seed: int) -> str:
    """Where the initial state's answer stands."""
    made = write_answers(scenario.schema(), scenario.trajectory(), recipe=scenario.recipe(seed=seed), model=ScriptedModel())
    return run(made).questions[0].golden[0]


BAD = {
    "equal answers": ({"variant_1": "Run more.", "variant_2": " run  MORE."}, "repeated: ['run more.']"),
    "blank answer": ({"variant_1": "Run.", "variant_2": " "}, "variant_2: String should have at least 1"),
    "no answer": ({"variant_1": "Run.", "variant_2": ""}, "variant_2: String should have at least 1"),
    "left out": ({"variant_1": "Run."}, "variant_2: Field required"),
    "too many": (
        {"variant_1": "Run.", "variant_2": "Rest.", "variant_3": "Eat."},
        "variant_3: Extra inputs are not permitted",
    ),
}


@pytest.mark.parametrize(("reply", "told"), BAD.values(), ids=BAD)
def test_answers_that_do_not_serve_each_variant_are_sent_back(reply: dict[str, str], told: str) -> None:
    record, model = written({DRAFT: [of_first(reply, honest)]})
    assert len(record.questions[0].choices) == 2
    assert [told in objection for objection in model.objections(DRAFT)] == [True]


def test_answers_that_stay_equal_are_told_apart_by_the_gate() -> None:
    equal = {"variant_1": json.dumps("Run more."), "variant_2": json.dumps("run more.")}
    record, model = written({DRAFT: [of_first(equal)]})
    assert len({choice.answer for choice in record.questions[0].choices}) == 2
    assert len(model.objections(DRAFT)) == 1
    assert len(model.asked(REFINE)) == 2


def test_an_answer_that_is_taken_for_another_is_refined_with_the_reading() -> None:
    initial = {DIET: "eats everything", GOAL: "first 5 km"}

    def check(request: ModelRequest) -> object:
        vegetarian = material(request, "answer").get(GOAL) == "half-marathon (21,1 km)"
        return taken_for(initial, request) if vegetarian and request.sample == 0 else honest(request)

    record, model = written({CHECK: [check]})
    (refining,) = model.asked(REFINE)
    assert (material(refining, "reading"), material(refining, "other_states")) == (initial, [initial])
    votes = [(vote.refinement, vote.accepted) for vote in record.gate_records if vote.item_id == "q01-v2"]
    assert votes == [(0, False), (1, True)]


def taken_for(state: dict[str, str], request: ModelRequest) -> object:
    return {"choice": next(int(number) for number, one in material(request, "choices").items() if one == state)}


def unsure(request: ModelRequest) -> object:
    """Cannot tell the second question's last variant."""
    return {"choice": 0} if material(request, "answer") == LAST else honest(request)


LAST = {name: scenario.STATES[2][name] for name in scenario.schema().questions[1].required_info}


def test_an_answer_that_no_judge_recognizes_gives_the_user_up_with_all_votes() -> None:
    with pytest.raises(UserFailed, match="No draft of q02-v3 passed the recovery gate in 4 readings") as failed:
        written({CHECK: [unsure]})
    votes = failed.value.gate_records
    assert [(vote.draft, vote.refinement, vote.reading) for vote in votes] == [(d, r, {}) for d in (0, 1) for r in (0, 1)]
    assert failed.value.reason == "gate_exhausted"


def test_an_answer_that_refining_does_not_help_is_written_anew_on_its_own() -> None:
    def later(request: ModelRequest) -> object:
        return unsure(request) if request.sample < 10_000 else honest(request)

    record, model = written({CHECK: [later]})
    (redraft,) = [request for request in model.asked(DRAFT) if request.sample]
    assert material(redraft, "variants") == {"variant_1": LAST}
    assert [vote.draft for vote in record.gate_records if vote.item_id == "q02-v3"] == [0, 0, 1]


def test_answers_that_become_equal_by_refining_give_the_user_up() -> None:
    def refine(request: ModelRequest) -> object:
        (other, *_) = material(request, "other_states")
        return {"answer": json.dumps(other)}

    def check(request: ModelRequest) -> object:
        return taken_for(LAST, request) if request.sample else unsure(request)

    with pytest.raises(UserFailed, match="Two answers of question q02 have become equal"):
        written({CHECK: [check], REFINE: [refine]})


def test_an_informed_judge_must_choose_each_answer_for_its_own_variant() -> None:
    record, model = written(reverse=True, votes=2, votes_needed=2)
    votes = [vote for vote in record.gate_records if vote.gate == "choice"]
    assert len(votes) == len(model.asked(CHOOSE)) == 2 * sum(len(answers.choices) for answers in record.questions)
    assert all(vote.accepted and vote.reading == vote.target == json.loads(vote.text) for vote in votes)
    for request in model.asked(CHOOSE):
        assert material(request, "situation") in [json.loads(answer) for answer in material(request, "choices").values()]
    orders = [tuple(material(request, "choices").values()) for request in model.asked(CHOOSE)]
    assert len(set(orders)) > 2


def test_an_answer_that_is_not_chosen_is_refined_recovered_and_then_chosen() -> None:
    def choose(request: ModelRequest) -> object:
        return {"choice": 0} if material(request, "situation") == LAST and request.sample == 0 else honest(request)

    record, model = written({CHOOSE: [choose]}, reverse=True)
    (refining,) = model.asked(REFINE)
    assert (material(refining, "matched_state"), material(refining, "chosen")) == (LAST, "none")
    votes = [(vote.gate, vote.refinement, vote.accepted) for vote in record.gate_records if vote.item_id == "q02-v3"]
    assert votes == [("recovery", 0, True), ("choice", 0, False), ("recovery", 1, True), ("choice", 1, True)]
    assert len(model.asked(CHOOSE)) == 6


def test_refining_is_told_which_answer_was_chosen_over_it() -> None:
    other = {name: scenario.STATES[0][name] for name in scenario.schema().questions[1].required_info}

    def choose(request: ModelRequest) -> object:
        wrong = material(request, "situation") == LAST and request.sample == 0
        return chosen(other, request) if wrong else honest(request)

    _, model = written({CHOOSE: [choose]}, reverse=True)
    (refining,) = model.asked(REFINE)
    assert material(refining, "chosen") == other


def chosen(state: dict[str, str], request: ModelRequest) -> object:
    return {"choice": next(int(number) for number, text in material(request, "choices").items() if json.loads(text) == state)}


def test_an_answer_that_is_never_chosen_gives_the_user_up_with_the_votes_of_both_gates() -> None:
    def choose(request: ModelRequest) -> object:
        return {"choice": 0} if material(request, "situation") == LAST else honest(request)

    with pytest.raises(UserFailed, match="No draft of q02-v3 passed the choice gate in 8 readings") as failed:
        written({CHOOSE: [choose]}, reverse=True)
    votes = [(vote.gate, vote.draft, vote.refinement) for vote in failed.value.gate_records]
    assert votes == [(gate, d, r) for d in (0, 1) for r in (0, 1) for gate in ("recovery", "choice")]


@pytest.mark.parametrize(
    ("choice", "cannot_tell", "told"),
    [
        (9, True, "choice: Input should be less than or equal to 2"),
        (0, False, "choice: Input should be greater than or equal to 1"),
        (-1, True, "choice: Input should be greater than or equal to 0"),
        ("two", True, "choice: Input should be a valid integer"),
    ],
)
def test_a_judges_number_must_be_one_of_those_offered(choice: object, cannot_tell: bool, told: str) -> None:
    _, model = written({CHECK: [of_first({"choice": choice}, honest)]}, cannot_tell=cannot_tell)
    assert [told in objection for objection in model.objections(CHECK)] == [True]


def test_each_vote_sees_the_variants_in_another_order() -> None:
    _, model = written(minimum=6, votes=3, votes_needed=3)
    orders = [str(material(request, "choices")) for request in model.asked(CHECK)]
    assert len(set(orders)) > len(orders) / 2


def test_chosen_dates_do_not_matter_to_the_choices() -> None:
    moved = trajectory_of(
        scenario.STATES, ends=[date(1999, 1, 1), date(1999, 2, 1), date(1999, 3, 1)], user_id=scenario.USER_ID
    )
    made = write_answers(scenario.schema(), moved, recipe=scenario.recipe(), model=ScriptedModel())
    same = write_answers(scenario.schema(), scenario.trajectory(), recipe=scenario.recipe(), model=ScriptedModel())
    assert run(made).questions == run(same).questions


def test_choices_are_those_of_the_schema() -> None:
    record, _ = written(minimum=9)
    assert {choice.state[0] for choice in record.questions[0].choices} == set(CHOICES[DIET])
