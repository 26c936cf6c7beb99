"""A text passes when a reading recovers its target, else it is refined or written anew; what was tried is kept."""

from contextvars import copy_context

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.llm.item_watch import WATCH, ItemWatch
from assets.recipe.policies import GatePolicy
from assets.records.base import ItemFailed
from tests.assets.llm.gate_bench import RIGHT, UNSURE, WRONG, Bench, passed, through


def once(*, refinements: int = 2, redrafts: int = 1) -> GatePolicy:
    return GatePolicy(votes=1, votes_needed=1, max_refinements=refinements, max_redrafts=redrafts)


def test_a_text_that_tells_its_target_is_accepted_at_once() -> None:
    text, records = passed(RIGHT, policy=once())
    assert text == "draft 0"
    assert [(record.text, record.target, record.reading, record.accepted) for record in records] == [(text, RIGHT, RIGHT, True)]


def test_a_misread_text_is_refined_with_what_was_read() -> None:
    text, records = passed(WRONG, UNSURE, RIGHT, policy=once())
    assert text == "draft 0, not meat, not unclear"
    assert [(record.refinement, record.accepted) for record in records] == [(0, False), (1, False), (2, True)]


def test_when_refinements_are_used_up_a_new_draft_is_written() -> None:
    text, records = passed(WRONG, WRONG, RIGHT, policy=once(refinements=1))
    assert text == "draft 1"
    assert [(record.draft, record.refinement) for record in records] == [(0, 0), (0, 1), (1, 0)]


def test_a_user_is_given_up_with_all_records_when_everything_is_used_up() -> None:
    with pytest.raises(ItemFailed, match=r"No draft of s01-01 passed the exposure gate in 4 readings") as failed:
        passed(WRONG, policy=once(refinements=1, redrafts=1))
    assert failed.value.reason == "gate_exhausted"
    assert failed.value.last_reply == "draft 1, not meat"
    assert [record.text for record in failed.value.gate_records] == [
        "draft 0",
        "draft 0, not meat",
        "draft 1",
        "draft 1, not meat",
    ]


def test_an_item_is_at_risk_when_more_than_half_of_its_texts_are_refused_until_none_is_left() -> None:
    bench = Bench([WRONG])
    refused: list[int] = []
    watch = ItemWatch(lambda _: None, lambda: refused.append(len(bench.votes_seen)))

    def lose() -> None:
        WATCH.set(watch)
        through(bench, policy=once(refinements=3, redrafts=1))

    with pytest.raises(ItemFailed):
        copy_context().run(lose)
    assert refused == [5, 6, 7]


def test_a_reading_must_recover_the_target_exactly() -> None:
    _, records = passed({**RIGHT, "mood": "low"}, {}, RIGHT, policy=once())
    assert [record.accepted for record in records] == [False, False, True]


@settings(max_examples=20)
@given(st.integers(0, 20), st.integers(0, 5), st.integers(1, 4))
def test_every_vote_of_an_item_has_a_number_of_its_own(refinements: int, redrafts: int, votes: int) -> None:
    policy = GatePolicy(votes=votes, votes_needed=1, max_refinements=refinements, max_redrafts=redrafts)
    bench = Bench([WRONG])
    with pytest.raises(ItemFailed):
        through(bench, policy=policy)
    numbers = [vote.number for vote in bench.votes_seen]
    assert len(set(numbers)) == len(numbers) == votes * (refinements + 1) * (redrafts + 1)
