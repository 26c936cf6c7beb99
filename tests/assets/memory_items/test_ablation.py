"""Readings pass, fail, or are errors; an error certifies nothing."""

from collections.abc import Sequence

import pytest

from assets.memory_items.ablation import Ablation, AblationCondition, ablate, condition_with, expect_passed, in_parts
from assets.memory_items.documents import ItemDocument
from assets.recipe.document_tasks import AblationPolicy
from assets.records.answers import TypedAnswer
from assets.records.base import ItemFailed
from tests.support.coroutines import run
from tests.support.research_tasks import small_recipe
from tests.support.scripted_model import Reply, ScriptedModel

ANSWER = TypedAnswer(kind="number", value="7")
FILLER = [ItemDocument(document_id=f"d{n}", title="T", text="word " * 90, role="filler") for n in range(4)]


def read(condition: AblationCondition, replies: Sequence[Reply], **policy: int) -> Ablation:
    recipe = small_recipe(gates={"max_reasks": 0})
    model = ScriptedModel({"memory_items/answer": replies})
    return run(
        ablate("How many?", ANSWER, [condition], policy=AblationPolicy(**policy), item_id="one", recipe=recipe, model=model)
    )


@pytest.mark.parametrize(
    ("expected", "replies", "outcome"),
    [
        ("right", ["7", "7"], "pass"),
        ("right", ["7", "8"], "fail"),
        ("wrong", [None, "8"], "pass"),
        ("wrong", [None, "7"], "fail"),
        ("measured", ["7", None], "pass"),
    ],
)
def test_all_readings_have_to_come_out_as_expected(expected: str, replies: list[str | None], outcome: str) -> None:
    condition = condition_with("some", FILLER, expected)  # pyright: ignore[reportArgumentType]
    ablation = read(condition, [{"answer": answer} for answer in replies])
    assert [one.outcome for one in ablation.outcomes] == [outcome]
    assert [vote.reading.get("answer") for vote in ablation.gate_records] == replies


def test_a_second_reading_has_the_documents_in_another_order() -> None:
    """A judge that misreads a text misreads it again where it gets the same words in the same order."""
    first, second = read(condition_with("some", FILLER, "wrong"), [{"answer": None}] * 2).gate_records
    assert first.text == "d0, d1, d2, d3"
    assert second.text != first.text
    assert sorted(second.text.split(", ")) == first.text.split(", ")


def test_an_error_is_neither_a_pass_nor_a_wrong_answer() -> None:
    ablation = read(condition_with("none", (), "wrong"), [{"answer": None}, "no JSON at all"])
    (outcome,) = ablation.outcomes
    assert outcome.outcome == "error"
    assert outcome.readings == 2
    assert outcome.right == 0
    assert outcome.errors == 1
    with pytest.raises(ItemFailed, match="1 errors") as failed:
        expect_passed(ablation)
    assert failed.value.reason == "call_failed"
    assert len(failed.value.gate_records) == 2


def test_what_is_too_long_is_read_in_parts_and_one_part_is_enough_to_fail() -> None:
    condition = in_parts("filler only", FILLER, most=200)
    assert [len(part) for part in condition.parts] == [2, 2]
    replies = [{"answer": None}, {"answer": None}, {"answer": "7"}, {"answer": "7"}]
    (outcome,) = read(condition, replies, votes=2, needed_right=2, allowed_right=1).outcomes
    assert (outcome.outcome, outcome.right, outcome.readings) == ("fail", 2, 4)
