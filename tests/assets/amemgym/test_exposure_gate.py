"""A query stays when judges read the intended values out of it and no others; else it is refined or redrafted."""

from typing import cast

import pytest

from assets.amemgym.records.state import EventSet
from assets.amemgym.session_queries.stage import write_sessions
from assets.llm.ports import ModelRequest
from assets.records.base import ItemFailed
from tests.assets.amemgym.session_sets import CHECK, FIRST, INITIAL, PROBE, REFINE, UPDATE, of_period, part, queries, written
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import decoded, honest, material, numbered_choices, query_of, telling
from tests.support.scenario import DIET, EVENINGS, GOAL
from tests.support.scripted_model import Reply, ScriptedModel
from tests.support.small import START, schema_of, trajectory_of

UNTOLD: dict[str, list[int]] = {"told": [], "hinted": []}


def test_a_query_that_is_misread_is_refined_with_the_reading() -> None:
    misread = {DIET: "eats everything"}
    record, model = written({CHECK: [of_period(1, [misread, {GOAL: scenario.STATES[1][GOAL], DIET: "vegetarian"}])]})
    (refining,) = model.asked(REFINE)
    assert material(refining, "reading") == {GOAL: "could not tell", DIET: "eats everything"}
    assert material(refining, "exposed_states") == {
        GOAL: {"value": "half-marathon (21,1 km)", "instead_of": ["first 5 km", "rest & recover"]},
        DIET: {"value": "vegetarian", "instead_of": ["eats everything", 'vegan, but "flexible"']},
    }
    votes = [vote for vote in record.gate_records if vote.item_id == "s01-01"]
    assert [(vote.refinement, vote.reading.get(GOAL), vote.accepted) for vote in votes] == [
        (0, None, False),
        (1, "half-marathon (21,1 km)", True),
    ]


@pytest.mark.parametrize("index", [0, 1])
def test_a_query_that_refining_does_not_help_is_written_anew(index: int) -> None:
    misread: Reply = {}
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
        written({CHECK: [of_period(2, [{}] * 4)]})
    assert failed.value.reason == "gate_exhausted"
    assert len(failed.value.gate_records) == 4


def test_a_judge_must_answer_with_a_listed_value() -> None:
    answer = of_period(2, [{EVENINGS: "Wed"}, {EVENINGS: "Tue | Thu"}])
    _, model = written({CHECK: [answer]})
    assert ["evenings {free}: Input should be" in told for told in model.objections(CHECK)] == [True]


@pytest.mark.parametrize(("cannot_tell", "objected"), [(False, True), (True, False)])
def test_where_judges_must_choose_they_may_leave_no_variable_out(cannot_tell: bool, objected: bool) -> None:
    told = {EVENINGS: scenario.STATES[2][EVENINGS]}
    replies: list[Reply] = [{}, told] if objected else [{}, told, told]
    _, model = written({CHECK: [of_period(2, replies)]}, cannot_tell=cannot_tell)
    assert any("evenings {free}: Field required" in objection for objection in model.objections(CHECK)) == objected


def test_each_vote_sees_the_choices_in_another_order() -> None:
    _, model = written({UPDATE: [honest]}, votes=6, votes_needed=6)
    orders = [
        tuple(material(request, "state_choices")[EVENINGS])
        for request in model.asked(CHECK)
        if list(material(request, "state_choices")) == [EVENINGS]
    ]
    assert len(set(orders)) > 1
    assert {frozenset(order) for order in orders} == {frozenset(scenario.CHOICES[EVENINGS])}
    assert len({request.sample for request in model.asked(CHECK)}) == 6


def leaking(request: ModelRequest) -> object:
    """Takes the diet, too, from the query about the evenings."""
    told = query_of(request)
    return {"1": telling(request, {**told, DIET: "vegetarian"})} if list(told) == [EVENINGS] else honest(request)


def test_a_query_is_probed_for_every_variable_that_it_must_not_tell() -> None:
    record, model = written({INITIAL: [queries(part(GOAL), part(DIET, EVENINGS))]}, unexposed=True)
    assert all(set(material(request, "state_choices")) == {DIET, GOAL, EVENINGS} for request in model.asked(PROBE))
    assert [vote.accepted for vote in record.gate_records] == [True] * 4


def test_every_vote_on_a_query_sees_the_variables_in_another_order() -> None:
    _, model = written({INITIAL: [queries(part(GOAL), part(DIET, EVENINGS))]}, unexposed=True, votes=4, votes_needed=4)
    assert len({tuple(material(request, "state_choices")) for request in model.asked(PROBE)}) > 1


def test_calls_of_one_vote_begin_alike_whatever_they_read() -> None:
    def refused_once(request: ModelRequest) -> object:
        return dict.fromkeys("123", UNTOLD) if request.sample == 0 else honest(request)

    _, model = written({PROBE: [refused_once]}, unexposed=True, texts_per_call=8)
    first, again = (request.messages[-1].content.partition("<messages>")[0] for request in model.asked(PROBE)[:2])
    assert first == again


def test_a_query_that_tells_more_than_it_should_is_refined_with_what_leaked() -> None:
    def check(request: ModelRequest) -> object:
        return leaking(request) if request.sample == 0 else honest(request)

    record, model = written({PROBE: [check]}, unexposed=True)
    (refining,) = model.asked(REFINE)
    assert material(refining, "leaked") == {DIET: "vegetarian"}
    assert material(refining, "reading") == {EVENINGS: "Tue | Thu"}
    assert material(refining, "exposed_states").keys() == {EVENINGS}
    votes = [(vote.reading.get(DIET), vote.accepted) for vote in record.gate_records if vote.item_id == "s02-01"]
    assert votes == [("vegetarian", False), (None, True)]


def test_a_query_that_keeps_telling_more_gives_the_user_up() -> None:
    with pytest.raises(ItemFailed, match="No draft of s02-01 passed the exposure gate"):
        written({PROBE: [leaking]}, unexposed=True)


def test_whoever_writes_a_query_knows_the_values_that_hold_beside_it() -> None:
    def check(request: ModelRequest) -> object:
        return leaking(request) if request.sample == 0 else honest(request)

    _, model = written({PROBE: [check]}, unexposed=True)
    others = {name: value for name, value in scenario.STATES[2].items() if name != EVENINGS}
    assert material(model.asked(UPDATE)[-1], "other_states") == others
    assert material(model.asked(REFINE)[0], "other_states") == others


def test_queries_of_all_periods_share_a_call_and_no_more_than_four_are_of_one() -> None:
    alone = [part(name) for name in (GOAL, DIET, EVENINGS)]
    record, model = written({INITIAL: [queries(*alone)]}, unexposed=True, texts_per_call=8)
    assert [len(material(request, "messages")) for request in model.asked(PROBE)] == [5]
    assert {vote.accepted for vote in record.gate_records} == {True}
    names = [f"variable_{number}" for number in range(6)]
    schema = schema_of({name: ["yes", "no"] for name in names})
    state = dict.fromkeys(names, "yes")
    model = ScriptedModel({INITIAL: [queries(*({name: "yes"} for name in names))]})
    recipe = scenario.recipe(gates={"texts_per_call": 8, "votes": 1, "votes_needed": 1})
    only = trajectory_of([state], ends=[START])
    run(write_sessions(scenario.profile(), schema, only, EventSet(user_id="u", periods=()), recipe=recipe, model=model))
    assert [len(material(request, "messages")) for request in model.asked(PROBE)] == [3, 3]


def test_a_refused_query_is_read_again_without_those_that_passed() -> None:
    def refused_once(request: ModelRequest) -> object:
        texts: dict[str, str] = material(request, "messages")
        told: dict[int, dict[str, str]] = {int(number): decoded(text) for number, text in texts.items()}
        late = [number for number, own in told.items() if EVENINGS in own and request.sample == 0]
        return {str(number): telling(request, {} if number in late else own) for number, own in told.items()}

    _, model = written({PROBE: [refused_once]}, unexposed=True, texts_per_call=8)
    assert [len(material(request, "messages")) for request in model.asked(PROBE)] == [3, 2]


def test_a_reading_that_lacks_a_message_is_sent_back() -> None:
    _, model = written({PROBE: [{"1": UNTOLD, "3": UNTOLD}, honest]}, unexposed=True, texts_per_call=8)
    assert ["there is none for ['2']" in told for told in model.objections(PROBE)] == [True]


def test_a_reading_of_two_choices_of_one_variable_is_sent_back() -> None:
    def both(request: ModelRequest) -> object:
        choices, numbers = numbered_choices(request)
        return {
            **dict(cast(dict[str, object], honest(request))),
            "2": {**UNTOLD, "told": [numbers[DIET, choice] for choice in choices[DIET]]},
        }

    _, model = written({PROBE: [both, honest]}, unexposed=True, texts_per_call=8)
    assert [f"Message 2 tells one choice of {DIET!r} at most" in told for told in model.objections(PROBE)] == [True]
