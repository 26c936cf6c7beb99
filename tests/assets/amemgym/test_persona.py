"""A pool row becomes a persona whatever its file format wrote for nothing and for lists; nothing in it is evaluated."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from assets.amemgym.records.persona import PERSONA_COLUMNS, parse_list
from tests.support.small import persona, persona_row


def test_a_row_becomes_a_persona_with_the_uuid_as_user_id() -> None:
    assert set(persona_row(7)) == set(PERSONA_COLUMNS)
    assert (persona(7).user_id, persona(7).occupation, persona(7).city) == (persona_row(7)["uuid"], "night_nurse", "León")


@pytest.mark.parametrize("column", ["bachelors_field", "arts_persona", "hobbies_and_interests_list"])
def test_null_and_empty_text_are_alike(column: str) -> None:
    assert persona(7, **{column: None}) == persona(7, **{column: ""}) == persona(7, **{column: "  "})


def test_an_age_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValidationError, match="age"):
        persona(7, age="old")


@pytest.mark.parametrize(
    ("value", "items"),
    [
        ("['Running', \"Zed's calligraphy\"]", ("Running", "Zed's calligraphy")),
        ("""['It\\'s "late"', 'a, b']""", ('It\'s "late"', "a, b")),
        ('["Running", "書道"]', ("Running", "書道")),
        (["Running", " 書道 "], ("Running", "書道")),
        (("Running",), ("Running",)),
        ("Running, 書道 , ", ("Running", "書道")),
        ("['Running', '', 'Running']", ("Running",)),
        ("[]", ()),
        ("", ()),
        (None, ()),
    ],
    ids=["literal", "literal with escapes", "JSON", "list", "tuple", "commas", "repeated", "empty list", "empty", "null"],
)
def test_a_list_column_is_read_in_any_of_its_notations(value: object, items: tuple[str, ...]) -> None:
    assert parse_list(value) == items


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('false')",
        "['a', __import__('os').getcwd()]",
        "[1 +",
        "['a' * 10**9]",
        "[" * 5000,
        f"[{'9' * 5000}]",
    ],
)
def test_code_in_a_list_column_is_just_text(text: str) -> None:
    assert all(item in text for item in parse_list(text))


ITEMS = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), max_size=4)


@given(ITEMS)
def test_lists_come_back_from_python_literals_and_json_as_they_were(items: list[str]) -> None:
    assert parse_list(repr(items)) == parse_list(json.dumps(items)) == parse_list(items)
