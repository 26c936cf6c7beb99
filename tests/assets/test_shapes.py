"""Shapes made for one call let only legal values through, whatever the variables are called."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from assets.legal import lists, one_of_each, texts

ODD = ["model_config", "a b", "变量", "class", "_x", "__init__", "given", "{a}", "f0", 'q"uote', ""]
CHOICES = {name: ["low", "high"] for name in ODD}


def test_variables_may_be_called_anything() -> None:
    values = dict.fromkeys(ODD, "low")
    assert one_of_each(CHOICES).model_validate(values).given() == values
    assert texts(ODD).model_validate(values).given() == values
    assert lists(ODD, length=1).model_validate({name: ["x"] for name in ODD}).given() == {name: ["x"] for name in ODD}


@pytest.mark.parametrize(
    "change",
    [{"a b": "middle"}, {"a b": "Low"}, {"a b": None}, {"a b": ["low"]}, {"mood": "low"}, {"f1": "low"}],
    ids=["no choice", "other case", "null", "list", "unknown variable", "field number"],
)
def test_an_illegal_value_or_variable_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        one_of_each({"a b": ["low", "high"]}).model_validate({"a b": "low", **change})


def test_a_left_out_variable_is_refused_only_where_it_is_required() -> None:
    choices = {"a": ["x"], "b": ["y"]}
    with pytest.raises(ValidationError, match="b"):
        one_of_each(choices).model_validate({"a": "x"})
    assert one_of_each(choices, required=False).model_validate({"a": "x"}).given() == {"a": "x"}


def test_equal_choices_share_a_shape() -> None:
    assert one_of_each({"a": ["x", "y"]}) is one_of_each({"a": ("x", "y")})


@given(st.dictionaries(st.text(max_size=8), st.lists(st.text(max_size=8), min_size=1, max_size=4), min_size=1, max_size=4))
def test_every_choice_of_every_variable_is_legal_and_stands_in_the_schema(choices: dict[str, list[str]]) -> None:
    shape = one_of_each(choices)
    last = {name: values[-1] for name, values in choices.items()}
    assert shape.model_validate(last).given() == last
    properties: dict[str, Any] = shape.model_json_schema(by_alias=True)["properties"]
    listed = {name: set(field.get("enum", [field.get("const")])) for name, field in properties.items()}
    assert listed == {name: set(values) for name, values in choices.items()}


@pytest.mark.parametrize(
    ("shape", "value"),
    [
        (texts(["a"]), {"a": ""}),
        (texts(["a"]), {"a": "x", "b": "y"}),
        (texts(["a"]), {}),
        (lists(["a"], length=2), {"a": ["x"]}),
        (lists(["a"], length=2), {"a": ["x", "y", "z"]}),
        (lists(["a"], length=2), {"a": ["x", "y" * 201]}),
        (lists(["a"], length=2), {"a": ["x", " "]}),
    ],
    ids=["empty text", "unknown key", "missing key", "too few", "too many", "no name", "blank name"],
)
def test_texts_and_lists_have_their_form(shape: Any, value: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        shape.model_validate(value)
