"""A query that speaks of its own person, or spells a value, is sent back while there is patience."""

import pytest

from assets.amemgym.session_queries.style import Voice

CHOICES = {"diet": ["eats_everything", "vegan"], "goal": ["first 5 km"]}


def heard(patience: int) -> Voice:
    return Voice("Ada Number1", CHOICES, patience)


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("Ada Number1, how do you train?", "Query 2 speaks of its own writer by name"),
        ("What does ADA NUMBER1 eat?", "Query 2 speaks of its own writer by name"),
        ("What are Ada's goals?", "Query 2 speaks of its own writer by name"),
        ("I am one who eats everything. Ideas?", r"Query 2 spells the values \['eats_everything'\]"),
    ],
)
def test_what_sounds_wrong_is_told_with_its_place(query: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        heard(1).check(["What do I cook?", query])


@pytest.mark.parametrize(
    "query", ["What would I cook as a vegan?", "My friend Adam Number1 eats. Everything fine?", "My first 5 km?"]
)
def test_words_that_anybody_may_use_are_no_fault(query: str) -> None:
    heard(9).check([query])


def test_who_never_learns_is_let_through_in_the_end() -> None:
    voice = heard(2)
    for _ in range(2):
        with pytest.raises(ValueError, match="by name"):
            voice.check(["Why, Ada Number1?"])
    voice.check(["Why, Ada Number1?"])
