"""A query that speaks of its own person, or spells a value, is sent back while retries are left."""

import pytest

from assets.amemgym.session_queries.drafts import query_in_context
from assets.text.text_checks import StyleCheck, TextInContext
from tests.support import scenario

CHOICES = {"diet": ["eats_everything", "vegan"], "goal": ["first 5 km"]}


def a_query(query: str, **exposed: str) -> TextInContext:
    return query_in_context(query, exposed, name="Ada Number1", choices=CHOICES, recipe=scenario.recipe())


FINE = a_query("What should I cook this week?")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("Ada Number1, how do you train?", "Query 2 speaks of its own writer by name"),
        ("What does ADA NUMBER1 eat?", "Query 2 speaks of its own writer by name"),
        ("What are Ada's goals?", "Query 2 speaks of its own writer by name"),
        ("I am one who eats everything. Ideas?", r"Query 2 spells the values \['eats_everything'\]"),
        ("Is my first 5 km run far off?", r"Query 2 spells the values \['first 5 km'\]"),
    ],
)
def test_a_fault_of_style_is_named_with_the_number_of_its_query(query: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StyleCheck(1).check([FINE, a_query(query)])


@pytest.mark.parametrize("query", ["What would I cook as a vegan?", "My friend Adam Number1 eats. Everything fine?"])
def test_words_that_anybody_may_use_are_no_fault(query: str) -> None:
    StyleCheck(9).check([a_query(query)])


def test_a_single_word_counts_where_it_is_the_value_that_the_query_exposes() -> None:
    with pytest.raises(ValueError, match=r"spells the values \['vegan'\]"):
        StyleCheck(1).check([a_query("What would I cook as a vegan?", diet="vegan")])


def test_a_fault_is_accepted_when_no_retries_are_left() -> None:
    style = StyleCheck(2)
    for _ in range(2):
        with pytest.raises(ValueError, match="by name"):
            style.check([a_query("Why, Ada Number1?")])
    style.check([a_query("Why, Ada Number1?")])


def test_a_strict_check_never_accepts_what_a_rule_blocks() -> None:
    style = StyleCheck(0, strict=True)
    style.check([a_query("Why, Ada Number1, is that so?")])
    with pytest.raises(ValueError, match="spells"):
        style.check([a_query("I am one who eats everything. Ideas?")])
