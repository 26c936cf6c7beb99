"""Schemas made for one call let only legal values through, whatever the variables are called."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from assets.llm.structured_output import (
    MOST_LISTED,
    NAME,
    TEXT,
    ReplySchema,
    SchemaPart,
    enum_of,
    integer_between,
    json_schema_of,
    list_of,
    object_of,
    object_of_alike,
    object_of_enums,
    schema_of_model,
)

ODD = ["model_config", "a b", "变量", "class", "_x", "__init__", "given", "{a}", "f0", 'q"uote', ""]
CHOICES = {name: ["low", "high"] for name in ODD}


def schema(part: SchemaPart) -> ReplySchema[Any]:
    return ReplySchema(part)


def test_variables_may_be_called_anything() -> None:
    values = dict.fromkeys(ODD, "low")
    assert schema(object_of_enums(CHOICES)).validate(values) == values
    assert schema(object_of(dict.fromkeys(ODD, TEXT))).validate(values) == values
    assert schema(object_of(dict.fromkeys(ODD, list_of(NAME)))).validate({name: ["x"] for name in ODD}) == {
        name: ["x"] for name in ODD
    }


@pytest.mark.parametrize(
    "change",
    [{"a b": "middle"}, {"a b": "Low"}, {"a b": None}, {"a b": ["low"]}, {"mood": "low"}],
    ids=["no choice", "other case", "null", "list", "unknown variable"],
)
def test_an_illegal_value_or_variable_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        schema(object_of_enums({"a b": ["low", "high"]})).validate({"a b": "low", **change})


def test_a_left_out_variable_is_refused_only_where_it_is_required() -> None:
    choices = {"a": ["x"], "b": ["y"]}
    with pytest.raises(ValidationError, match="b"):
        schema(object_of_enums(choices)).validate({"a": "x"})
    assert schema(object_of_enums(choices, required=False)).validate({"a": "x"}) == {"a": "x"}


def test_keys_of_one_kind_are_all_asked_for_and_the_json_schema_leaves_them_out() -> None:
    part = object_of_alike(["1", "2"], integer_between(0, 3))
    assert part.json_schema == {"additionalProperties": integer_between(0, 3).json_schema, "type": "object"}
    assert schema(part).validate({"1": 0, "2": 3}) == {"1": 0, "2": 3}
    for reply, told in (
        ({"1": 0}, r"there is none for \['2'\]"),
        ({"1": 0, "2": 4}, "less than"),
        ({"1": 0, "3": 1}, "'1' or '2'"),
    ):
        with pytest.raises(ValidationError, match=told):
            schema(part).validate(reply)
    assert schema(object_of_alike(["1", "2"], TEXT, required=False)).validate({}) == {}


def test_of_many_names_that_may_be_left_out_the_json_schema_lists_none_and_all_are_checked() -> None:
    many = {f"v{number}": ["low", "high"] for number in range(MOST_LISTED + 1)}
    part = object_of_enums(many, required=False)
    assert part.json_schema == {"additionalProperties": {"type": "string"}, "type": "object"}
    with pytest.raises(ValidationError, match="'low' or 'high'"):
        schema(part).validate({"v0": "middle"})


def test_the_json_schema_has_no_titles_and_none_of_our_own_words() -> None:
    class Reply(BaseModel):
        """Words for readers of the code."""

        title: str

    assert schema_of_model(Reply).json_schema == {
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
        "type": "object",
    }
    assert schema_of_model(Reply) is schema_of_model(Reply)


@given(st.dictionaries(st.text(max_size=8), st.lists(st.text(max_size=8), min_size=1, max_size=4), min_size=1, max_size=4))
def test_every_choice_of_every_variable_is_legal_and_stands_in_the_schema(choices: dict[str, list[str]]) -> None:
    made = schema(object_of_enums(choices))
    last = {name: values[-1] for name, values in choices.items()}
    assert made.validate(last) == last
    properties: dict[str, Any] = made.json_schema["properties"]
    listed = {name: set(field.get("enum", [field.get("const")])) for name, field in properties.items()}
    assert listed == {name: set(values) for name, values in choices.items()}


TWO = object_of({"a": list_of(NAME, min_items=2, max_items=2)})


@pytest.mark.parametrize(
    ("part", "value"),
    [
        (object_of({"a": TEXT}), {"a": ""}),
        (object_of({"a": TEXT}), {"a": "x", "b": "y"}),
        (object_of({"a": TEXT}), {}),
        (TWO, {"a": ["x"]}),
        (TWO, {"a": ["x", "y", "z"]}),
        (TWO, {"a": ["x", "y" * 201]}),
        (TWO, {"a": ["x", " "]}),
    ],
    ids=["empty text", "unknown key", "missing key", "too few", "too many", "no name", "blank name"],
)
def test_texts_and_lists_have_their_form(part: SchemaPart, value: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        schema(part).validate(value)


NAMES = st.lists(st.text(max_size=5), min_size=1, max_size=3, unique=True)
LEAVES = st.sampled_from([TEXT, NAME]) | NAMES.map(enum_of) | st.builds(integer_between, st.integers(0, 3), st.integers(3, 9))
PARTS = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(list_of, inner, min_items=st.integers(0, 2), max_items=st.none() | st.integers(2, 5))
        | st.builds(object_of, st.dictionaries(st.text(max_size=5), inner, min_size=1, max_size=3), required=st.booleans())
    ),
    max_leaves=6,
)


@given(PARTS)
def test_the_json_schema_says_what_is_let_through(part: SchemaPart) -> None:
    assert part.json_schema == json_schema_of(part.core)
