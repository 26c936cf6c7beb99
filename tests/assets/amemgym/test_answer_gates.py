"""An answer stays when judges recover its variant from it and choose it for that variant; else it is refined or redrafted."""

import pytest

from assets.llm.ports import ModelRequest
from assets.records.base import ItemFailed
from tests.assets.amemgym.answer_sets import CHECK, CHOOSE, DRAFT, REFINE, of_first, written
from tests.support import scenario
from tests.support.honest_replies import answer_of, case_of, coded, decoded, honest, material, situation_of, situations_of
from tests.support.scenario import DIET, GOAL


def test_an_answer_that_is_taken_for_another_is_refined_with_the_reading() -> None:
    initial = {DIET: "eats everything", GOAL: "first 5 km"}

    def check(request: ModelRequest) -> object:
        vegetarian = answer_of(request).get(GOAL) == "half-marathon (21,1 km)"
        return taken_for(initial, request) if vegetarian and request.sample == 0 else honest(request)

    record, model = written({CHECK: [check]})
    (refining,) = model.asked(REFINE)
    assert (material(refining, "reading"), material(refining, "other_states")) == (initial, [initial])
    votes = [(vote.refinement, vote.accepted) for vote in record.gate_records if vote.item_id == "q01-v2"]
    assert votes == [(0, False), (1, True)]


def taken_for(state: dict[str, str], request: ModelRequest) -> object:
    return {"1": next(int(number) for number, one in situations_of(case_of(request)).items() if one == state)}


def unsure(request: ModelRequest) -> object:
    """Cannot tell the second question's last variant."""
    return {"1": 0} if answer_of(request) == LAST else honest(request)


LAST = {name: scenario.STATES[2][name] for name in scenario.schema().questions[1].required_info}


def test_an_answer_that_no_judge_recognizes_gives_the_user_up_with_all_votes() -> None:
    with pytest.raises(ItemFailed, match="No draft of q02-v3 passed the recovery gate in 4 readings") as failed:
        written({CHECK: [unsure]})
    votes = failed.value.gate_records
    assert [(vote.draft, vote.refinement, vote.reading) for vote in votes] == [(d, r, {}) for d in (0, 1) for r in (0, 1)]
    assert failed.value.reason == "gate_exhausted"


def test_an_answer_that_refining_does_not_help_is_written_anew_on_its_own() -> None:
    def later(request: ModelRequest) -> object:
        return unsure(request) if request.sample < 10_000 else honest(request)

    record, model = written({CHECK: [later]})
    (redraft,) = [request for request in model.asked(DRAFT) if request.sample]
    assert material(redraft, "variants") == {"variant_1": list(LAST.values())}
    assert [vote.draft for vote in record.gate_records if vote.item_id == "q02-v3"] == [0, 0, 1]


def test_answers_that_become_equal_by_refining_give_the_user_up() -> None:
    def refine(request: ModelRequest) -> object:
        (other, *_) = material(request, "other_states")
        return {"answer": coded(other)}

    def check(request: ModelRequest) -> object:
        return taken_for(LAST, request) if request.sample else unsure(request)

    with pytest.raises(ItemFailed, match="Two answers of question q02 are nearly the same"):
        written({CHECK: [check], REFINE: [refine]})


def test_an_informed_judge_must_choose_each_answer_for_its_own_variant() -> None:
    record, model = written(reverse=True, votes=3, votes_needed=3)
    votes = [vote for vote in record.gate_records if vote.gate == "choice"]
    assert len(votes) == len(model.asked(CHOOSE)) == 2 * sum(len(answers.choices) for answers in record.questions)
    assert all(vote.accepted and vote.reading == vote.target == decoded(vote.text) for vote in votes)
    for request in model.asked(CHOOSE):
        assert situation_of(request) in [decoded(answer) for answer in case_of(request)["answers"].values()]
    orders = [tuple(case_of(request)["answers"].values()) for request in model.asked(CHOOSE)]
    assert len(set(orders)) > 2


def test_an_answer_that_is_not_chosen_is_refined_recovered_and_then_chosen() -> None:
    def choose(request: ModelRequest) -> object:
        return {"1": 0} if situation_of(request) == LAST and request.sample == 0 else honest(request)

    record, model = written({CHOOSE: [choose]}, reverse=True)
    (refining,) = model.asked(REFINE)
    assert (material(refining, "matched_state"), material(refining, "chosen")) == (LAST, "none")
    votes = [(vote.gate, vote.refinement, vote.accepted) for vote in record.gate_records if vote.item_id == "q02-v3"]
    assert votes == [("recovery", 0, True), ("choice", 0, False), ("recovery", 1, True), ("choice", 1, True)]
    assert len(model.asked(CHOOSE)) == 6


def test_refining_is_told_which_answer_was_chosen_over_it() -> None:
    other = {name: scenario.STATES[0][name] for name in scenario.schema().questions[1].required_info}

    def choose(request: ModelRequest) -> object:
        wrong = situation_of(request) == LAST and request.sample == 0
        return chosen(other, request) if wrong else honest(request)

    _, model = written({CHOOSE: [choose]}, reverse=True)
    (refining,) = model.asked(REFINE)
    assert material(refining, "chosen") == other


def chosen(state: dict[str, str], request: ModelRequest) -> object:
    return {"1": next(int(number) for number, text in case_of(request)["answers"].items() if decoded(text) == state)}


def test_an_answer_that_is_never_chosen_gives_the_user_up_with_the_votes_of_both_gates() -> None:
    def choose(request: ModelRequest) -> object:
        return {"1": 0} if situation_of(request) == LAST else honest(request)

    with pytest.raises(ItemFailed, match="No draft of q02-v3 passed the choice gate in 8 readings") as failed:
        written({CHOOSE: [choose]}, reverse=True)
    votes = [(vote.gate, vote.draft, vote.refinement) for vote in failed.value.gate_records]
    assert votes == [(gate, d, r) for d in (0, 1) for r in (0, 1) for gate in ("recovery", "choice")]


@pytest.mark.parametrize(
    ("choice", "cannot_tell", "told"),
    [
        (9, True, "1: Input should be less than or equal to 2"),
        (0, False, "1: Input should be greater than or equal to 1"),
        (-1, True, "1: Input should be greater than or equal to 0"),
        ("two", True, "1: Input should be a valid integer"),
    ],
)
def test_a_judges_number_must_be_one_of_those_offered(choice: object, cannot_tell: bool, told: str) -> None:
    _, model = written({CHECK: [of_first({"1": choice}, honest)]}, cannot_tell=cannot_tell)
    assert [told in objection for objection in model.objections(CHECK)] == [True]


def test_each_vote_sees_the_variants_in_another_order() -> None:
    _, model = written(minimum=6, votes=3, votes_needed=3)
    orders = [str(case_of(request)["situations"]) for request in model.asked(CHECK)]
    assert len(set(orders)) > len(orders) / 2
