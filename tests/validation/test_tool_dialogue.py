"""Faults planted into a finished tool dialogue: each is caught by the rule that is there for it."""

import pytest

from assets.records.base import Record
from tests.support.applied_rules import apply_rules
from tests.support.tool_dialogues import made_dialogue, tool_recipe
from validation.tool_dialogue.benchmark import TOOL_DIALOGUE_VALIDATION

RULES = TOOL_DIALOGUE_VALIDATION.rules


def broken(stage: str, record: Record | None = None) -> set[str]:
    """The stage's rules that are broken, once its record is another one."""
    records = dict(made_dialogue().records)
    if record is not None:
        records[stage] = {made_dialogue().world.task_id: record}  # pyright: ignore[reportArgumentType]
    outcomes = apply_rules(RULES[stage], list(records[stage].values()), recipe=tool_recipe(), others=records)
    return {outcome.rule.name for outcome in outcomes if not outcome.passed}


@pytest.mark.parametrize("stage", RULES)
def test_nothing_is_wrong_with_a_task_as_it_was_made(stage: str) -> None:
    assert broken(stage) == set()


def test_a_call_with_another_value_is_caught() -> None:
    request = made_dialogue().request
    *before, visit, notice = request.calls
    changed = visit.model_copy(update={"arguments": {**visit.arguments, "ceiling": "11"}})
    assert broken("td_requests", request.model_copy(update={"calls": (*before, changed, notice)})) == {"calls_do_the_errand"}


def test_a_call_that_is_refused_is_caught() -> None:
    request = made_dialogue().request
    *before, last = request.calls
    changed = last.model_copy(update={"arguments": {**last.arguments, "customer_id": "C-1"}})
    assert broken("td_requests", request.model_copy(update={"calls": (*before, changed)})) == {"calls_do_the_errand"}


def test_a_request_that_tells_a_settled_value_is_caught() -> None:
    request = made_dialogue().request
    told = request.model_copy(update={"question": f"{request.question} {request.hops[0].value}!"})
    assert "settled_in_sessions_alone" in broken("td_requests", told)


def test_a_row_that_tells_a_settled_number_is_caught() -> None:
    request = made_dialogue().request
    hop = request.hops[1].model_copy(update={"kind": "number", "value": "4711"})
    row = request.rows[0].model_copy(update={"values": {**request.rows[0].values, "note": hop.value}})
    told = request.model_copy(update={"hops": (request.hops[0], hop), "rows": (*request.rows, row)})
    assert "settled_in_sessions_alone" in broken("td_requests", told)


def test_an_errand_about_something_that_the_customer_does_not_own_is_caught() -> None:
    world = made_dialogue().world
    errand = world.errand.model_copy(update={"item": "submarine"})
    assert broken("td_worlds", world.model_copy(update={"errand": errand})) == {"errands_can_be_done"}


def test_a_matter_that_nobody_settled_is_caught() -> None:
    world = made_dialogue().world
    assert broken("td_worlds", world.model_copy(update={"chain": world.chain[:1]})) == {"settled_matters_are_planned"}
