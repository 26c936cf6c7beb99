"""A query that speaks of its own person, or spells a value, is sent back while retries are left."""

import pytest

from assets.amemgym.session_queries.drafts import StyleCheck

CHOICES = {"diet": ["eats_everything", "vegan"], "goal": ["first 5 km"]}


def style_check(retries_left: int) -> StyleCheck:
    return StyleCheck("Ada Number1", CHOICES, retries_left)


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("Ada Number1, how do you train?", "Query 2 speaks of its own writer by name"),
        ("What does ADA NUMBER1 eat?", "Query 2 speaks of its own writer by name"),
        ("What are Ada's goals?", "Query 2 speaks of its own writer by name"),
        ("I am one who eats everything. Ideas?", r"Query 2 spells the values \['eats_everything'\]"),
    ],
)
def test_a_fault_of_style_is_named_with_the_number_of_its_query(query: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        style_check(1).check(["What do I cook?", query])


@pytest.mark.parametrize(
    "query", ["What would I cook as a vegan?", "My friend Adam Number1 eats. Everything fine?", "My first 5 km?"]
)
def test_words_that_anybody_may_use_are_no_fault(query: str) -> None:
    style_check(9).check([query])


def test_a_fault_is_accepted_when_no_retries_are_left() -> None:
    style = style_check(2)
    for _ in range(2):
        with pytest.raises(ValueError, match="by name"):
            style.check(["Why, Ada Number1?"])
    style.check(["Why, Ada Number1?"])
