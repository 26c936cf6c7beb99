"""A judge that misread a text and is asked again is asked in other words, with another order, and no earlier reply is found."""

from typing import Any

import pytest

from assets.amemgym.events import elaborate_events
from assets.amemgym.schema_gate import CHECKS
from assets.amemgym.state_schema import pass_judges
from assets.llm.ports import ModelRequest
from pipelines.resources.cache.reply_cache import request_key
from tests.assets.amemgym import answer_sets, session_sets
from tests.support import scenario
from tests.support.coroutines import run
from tests.support.honest_replies import honest, material
from tests.support.scripted_model import ScriptedModel

VOTES: dict[str, Any] = {"votes": 3, "votes_needed": 3, "unexposed": True, "texts_per_call": 8}


def asked_twice(prompt: str) -> tuple[ModelRequest, ModelRequest]:
    """The first two votes on the texts of one call."""
    model = ScriptedModel({})
    recipe = scenario.recipe(gates=VOTES)
    if prompt.startswith("answers/"):
        _, model = answer_sets.written(**VOTES, reverse=True)
    elif prompt.startswith("session_queries/"):
        _, model = session_sets.written(**VOTES)
    elif prompt.startswith("state_schema/"):
        run(pass_judges(scenario.profile(), scenario.schema(), recipe=recipe, model=model))
    else:
        parts = (scenario.profile(), scenario.schema(), scenario.trajectory())
        run(elaborate_events(*parts, recipe=recipe, model=model))
    first, second, *_ = model.asked(prompt)
    return first, second


PROMPTS = ("answers/check", "answers/choose", "session_queries/probe", "state_trajectory/check", *CHECKS)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_a_second_vote_asks_the_same_in_other_words(prompt: str) -> None:
    first, second = asked_twice(prompt)
    instructions = [request.messages[0].content.splitlines() for request in (first, second)]
    assert instructions[0][0] == instructions[1][0]
    assert instructions[0][-3:] == instructions[1][-3:]
    assert instructions[0] != instructions[1]
    assert request_key(first) != request_key(second)


def test_a_second_vote_has_texts_and_parts_of_a_case_in_the_other_order() -> None:
    first, second = (material(request, "cases") for request in asked_twice("answers/choose"))
    assert [one["question"] for one in first.values()] == [one["question"] for one in reversed(second.values())]
    parts, other = ([part for part in case["1"] if part != "variables"] for case in (first, second))
    assert parts == other[::-1]
    first, second = asked_twice("session_queries/probe")
    assert list(material(first, "messages").values()) == list(reversed(material(second, "messages").values()))


def test_a_judge_that_slips_on_one_wording_accepts_nothing_by_itself() -> None:
    def slipping(request: ModelRequest) -> object:
        reworded = "Go through the situations" in request.messages[0].content
        if reworded or request.sample:
            return honest(request)
        answers = [key for case in material(request, "cases").values() for key in case["answers"]]
        return dict.fromkeys(answers, 1)

    made, _ = answer_sets.written({"answers/check": [slipping]}, **{**VOTES, "votes": 2, "votes_needed": 2})
    by_text = [(vote.item_id, vote.vote, vote.accepted) for vote in made.gate_records if vote.gate == "recovery"]
    assert all(accepted for _, number, accepted in by_text if number == 1)
    assert not all(accepted for _, number, accepted in by_text if number == 0)
