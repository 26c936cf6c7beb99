"""Tasks are filled up to a length that the memory receives, or given up."""

import pytest

from assets.memory_items.documents import ItemDocument, Turn, tokens_of
from assets.memory_items.lengths import at_length
from assets.records.base import ItemFailed


def document(number: int, *, words: int, support: bool = False) -> ItemDocument:
    role = "support" if support else "filler"
    return ItemDocument(document_id=f"d{number}", title="A title", text="word " * words, role=role)


TURNS = tuple(Turn(documents=(document(number, words=40, support=True),)) for number in range(3))


@pytest.mark.parametrize("target", [400, 1000, 5000])
def test_the_length_is_within_its_tolerance_whatever_the_filler(target: int) -> None:
    filler = [document(number, words=30 + number % 50) for number in range(10, 200)]
    sized = at_length(TURNS, filler, target=target, tolerance=0.05, path=(1,))
    assert tokens_of(sized.turns) == sized.tokens
    assert abs(sized.tokens - target) <= 0.05 * target


def test_a_length_that_cannot_be_met_is_given_up_with_both_numbers() -> None:
    with pytest.raises(ItemFailed, match="A length of 5000 tokens, 5% more or less, cannot be met: with filler it is 248"):
        at_length(TURNS, [document(9, words=120)], target=5000, tolerance=0.05, path=(1,))


def test_the_same_filler_comes_in_the_same_turn_at_every_length() -> None:
    filler = [document(number, words=60) for number in range(10, 60)]
    short, long = (at_length(TURNS, filler, target=target, tolerance=0.05, path=(1,)) for target in (1000, 2000))
    turn_of = {one.document_id: number for number, turn in enumerate(long.turns) for one in turn.documents}
    for number, turn in enumerate(short.turns):
        assert {turn_of[one.document_id] for one in turn.documents} == {number}
