"""A query that speaks of its own person, or spells a value, is sent back while there is patience."""

import pytest

from assets.voice import Voice

CHOICES = {"diet": ["eats_everything", "vegan"], "goal": ["first 5 km"]}


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("Ada Number1, how do you train?", "Query 2 speaks of its own writer by name"),
        ("What does ADA NUMBER1 eat?", "Query 2 speaks of its own writer by name"),
        ("I am one who eats everything. Ideas?", r"Query 2 spells the values \['eats_everything'\]"),
    ],
)
def test_what_sounds_wrong_is_told_with_its_place(query: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        Voice("Ada Number1", CHOICES, patience=1).check(["What is for dinner?", query])


@pytest.mark.parametrize("query", ["What would a vegan cook?", "Adam Number1 eats. Everything fine?", "My first 5 km?"])
def test_words_that_anybody_may_use_are_no_fault(query: str) -> None:
    Voice("Ada Number1", CHOICES, patience=9).check([query])


def test_who_never_learns_is_let_through_in_the_end() -> None:
    voice = Voice("Ada", CHOICES, patience=2)
    for _ in range(2):
        with pytest.raises(ValueError, match="by name"):
            voice.check(["Ada?"])
    voice.check(["Ada?"])
