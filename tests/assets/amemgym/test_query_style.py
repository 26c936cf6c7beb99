"""A query that speaks of its own person, or spells a value, is sent back while retries are left."""

import pytest

from assets.amemgym.session_queries.drafts import query_in_context
from assets.text.text_checks import StyleCheck, TextInContext
from tests.support import scenario
from tests.support.small import START

CHOICES = {"diet": ["eats_everything", "vegan"], "goal": ["first 5 km"], "swims": ["weekly", "twice_weekly"]}


def a_query(query: str, **exposed: str) -> TextInContext:
    profile = scenario.profile(name="Ada Number1")
    return query_in_context(query, exposed, day=START, profile=profile, choices=CHOICES, recipe=scenario.recipe())


FINE = a_query("What should I cook this week?")


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("Ada Number1, how do you train?", "Query 2 speaks of its own writer by name"),
        ("What does ADA NUMBER1 eat?", "Query 2 speaks of its own writer by name"),
        ("What are Ada's goals?", "Query 2 speaks of its own writer by name"),
    ],
)
def test_a_fault_of_style_is_named_with_the_number_of_its_query(query: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StyleCheck(1).check([FINE, a_query(query)])


COPIED = {
    "all words of a value": ("I am one who eats everything. Ideas?", {"diet": "eats_everything"}),
    "the words in another order": ("My run of 5 km was my first. What next?", {"goal": "first 5 km"}),
}
ORDINARY = {
    "its only word": ("What would I cook as a vegan?", {"diet": "vegan"}),
    "a word of a longer value": ("I eat late. What is light?", {"diet": "eats_everything"}),
    "a word between": ("Any study tip for my course?", {"material": "course_of_study"}),
    "a brace": ("My knee brace chafes on the stairs. Ideas?", {"knee": "wears_a_knee_brace"}),
    "the value of another variable": ("Is my first 5 km run far off?", {"diet": "vegan"}),
}


@pytest.mark.parametrize(("query", "exposed"), COPIED.values(), ids=COPIED)
def test_a_value_whose_words_stand_together_is_copied(query: str, exposed: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"Query 1 has all words of \["):
        StyleCheck(1).check([a_query(query, **exposed)])


@pytest.mark.parametrize(("query", "exposed"), ORDINARY.values(), ids=ORDINARY)
def test_an_ordinary_word_of_a_value_is_no_fault(query: str, exposed: dict[str, str]) -> None:
    StyleCheck(1).check([a_query(query, **exposed)])


@pytest.mark.parametrize("query", ["What would I cook as a vegan?", "My friend Adam Number1 eats. Everything fine?"])
def test_words_that_anybody_may_use_are_no_fault(query: str) -> None:
    StyleCheck(9).check([a_query(query)])


def test_a_fault_is_accepted_when_no_retries_are_left() -> None:
    style = StyleCheck(2)
    for _ in range(2):
        with pytest.raises(ValueError, match="by name"):
            style.check([a_query("Why, Ada Number1?")])
    style.check([a_query("Why, Ada Number1?")])


def test_a_strict_check_never_accepts_what_a_rule_blocks() -> None:
    style = StyleCheck(0, strict=True)
    style.check([a_query("Why, Ada Number1, is that so?")])
    with pytest.raises(ValueError, match="has all words"):
        style.check([a_query("I am one who eats everything. Ideas?", diet="eats_everything")])
