"""A query stays when judges read the intended values out of it and no others; else it is refined or redrafted."""

from typing import Any

import pytest

from assets.llm.ports import ModelRequest
from assets.records.base import ItemFailed
from tests.assets.amemgym.session_sets import CHECK, FIRST, INITIAL, REFINE, UPDATE, of_period, part, queries, written
from tests.support import scenario
from tests.support.honest_replies import honest, material
from tests.support.scenario import DIET, EVENINGS, GOAL
from tests.support.scripted_model import Reply


def test_a_query_that_is_misread_is_refined_with_the_reading() -> None:
    misread = {GOAL: "cannot_tell", DIET: "eats everything"}
    record, model = written({CHECK: [of_period(1, [misread, {GOAL: scenario.STATES[1][GOAL], DIET: "vegetarian"}])]})
    (refining,) = model.asked(REFINE)
    assert material(refining, "reading") == {GOAL: "could not tell", DIET: "eats everything"}
    assert material(refining, "exposed_states") == {
        GOAL: {"value": "half-marathon (21,1 km)", "instead_of": ["first 5 km", "rest & recover"]},
        DIET: {"value": "vegetarian", "instead_of": ["eats everything", 'vegan, but "flexible"']},
    }
    votes = [vote for vote in record.gate_records if vote.item_id == "s01-01"]
    assert [(vote.refinement, vote.reading[GOAL], vote.accepted) for vote in votes] == [
        (0, "", False),
        (1, "half-marathon (21,1 km)", True),
    ]


@pytest.mark.parametrize("index", [0, 1])
def test_a_query_that_refining_does_not_help_is_written_anew(index: int) -> None:
    misread: Reply = dict.fromkeys(FIRST if index == 0 else (GOAL, DIET), "cannot_tell")
    truth = scenario.STATES[index] if index == 0 else {GOAL: scenario.STATES[1][GOAL], DIET: "vegetarian"}
    anew = queries(FIRST) if index == 0 else {"queries": ["Anew."]}
    prompt = INITIAL if index == 0 else UPDATE
    script: dict[str, list[Reply]] = {CHECK: [of_period(index, [misread, misread, truth])]}
    if index == 0:
        script[INITIAL] = [queries(FIRST), queries(part(GOAL), part(DIET, EVENINGS)), anew]
    record, model = written(script)
    redrafts = [request for request in model.asked(prompt) if request.sample]
    assert [request.sample for request in redrafts] == [1] * len(redrafts)
    assert len(redrafts) == (2 if index == 0 else 1)
    last = [vote for vote in record.gate_records if vote.item_id == f"s{index:02d}-01"][-1]
    assert (last.draft, last.accepted) == (1, True)


def test_a_user_whose_query_is_never_understood_is_given_up_with_all_votes() -> None:
    with pytest.raises(ItemFailed, match="No draft of s02-01 passed the exposure gate in 4 readings") as failed:
        written({CHECK: [of_period(2, [{EVENINGS: "cannot_tell"}] * 4)]})
    assert failed.value.reason == "gate_exhausted"
    assert len(failed.value.gate_records) == 4


def test_a_judge_must_answer_with_a_listed_value() -> None:
    answer = of_period(2, [{EVENINGS: "Wed"}, {EVENINGS: "Tue | Thu"}])
    _, model = written({CHECK: [answer]})
    assert ["evenings {free}: Input should be" in told for told in model.objections(CHECK)] == [True]


def test_where_judges_must_choose_they_cannot_pass() -> None:
    _, model = written(cannot_tell=False, unexposed=0)
    offered = [
        value for request in model.asked(CHECK) for values in material(request, "state_choices").values() for value in values
    ]
    assert "cannot_tell" not in offered
    _, model = written()
    lists = [values for request in model.asked(CHECK) for values in material(request, "state_choices").values()]
    assert {values[-1] for values in lists} == {"cannot_tell"}


def test_each_vote_sees_the_choices_in_another_order() -> None:
    _, model = written({UPDATE: [honest]}, votes=6, votes_needed=6)
    orders = [
        tuple(material(request, "state_choices")[EVENINGS])
        for request in model.asked(CHECK)
        if list(material(request, "state_choices")) == [EVENINGS]
    ]
    assert len(set(orders)) > 1
    assert {frozenset(order) for order in orders} == {frozenset([*scenario.CHOICES[EVENINGS], "cannot_tell"])}
    assert len({request.sample for request in model.asked(CHECK)}) == 6


def leaking(request: ModelRequest) -> object:
    """Takes the diet, too, from the query about the evenings."""
    leaks = list(material(request, "query")) == [EVENINGS]
    return {**told(request), DIET: "vegetarian"} if leaks else told(request)


def told(request: ModelRequest) -> dict[str, Any]:
    truth = material(request, "query")
    return {name: truth.get(name, values[-1]) for name, values in material(request, "state_choices").items()}


def test_a_query_is_probed_for_variables_that_it_must_not_tell() -> None:
    record, model = written({INITIAL: [queries(part(GOAL), part(DIET, EVENINGS))]}, unexposed=1)
    assert [(vote.accepted, list(vote.target.values()).count("")) for vote in record.gate_records] == [(True, 1)] * 4
    assert {len(material(request, "state_choices")) for request in model.asked(CHECK)} == {2, 3}


def test_every_vote_on_a_query_probes_the_same_variables_in_another_order() -> None:
    record, model = written({INITIAL: [queries(part(GOAL), part(DIET, EVENINGS))]}, unexposed=1, votes=4, votes_needed=4)
    for item in {vote.item_id for vote in record.gate_records}:
        assert len({frozenset(vote.target) for vote in record.gate_records if vote.item_id == item}) == 1
    orders = [tuple(material(request, "state_choices")) for request in model.asked(CHECK)]
    assert len(set(orders)) > len({frozenset(order) for order in orders})


def test_a_query_that_tells_more_than_it_should_is_refined_with_what_leaked() -> None:
    def check(request: ModelRequest) -> object:
        return leaking(request) if request.sample == 0 else told(request)

    record, model = written({CHECK: [check]}, unexposed=3)
    (refining,) = model.asked(REFINE)
    assert material(refining, "leaked") == {DIET: "vegetarian"}
    assert material(refining, "reading") == {EVENINGS: "Tue | Thu"}
    assert material(refining, "exposed_states").keys() == {EVENINGS}
    votes = [(vote.reading[DIET], vote.accepted) for vote in record.gate_records if vote.item_id == "s02-01"]
    assert votes == [("vegetarian", False), ("", True)]


def test_a_query_that_keeps_telling_more_gives_the_user_up() -> None:
    with pytest.raises(ItemFailed, match="No draft of s02-01 passed the exposure gate"):
        written({CHECK: [leaking]}, unexposed=3)
