"""Shapes made for one call let only legal values through, whatever the variables are called."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from assets.llm.reply_schema import NAME, TEXT, Part, Shape, among, keyed, many, number, one_of_each, shape_of, told_of

ODD = ["model_config", "a b", "变量", "class", "_x", "__init__", "given", "{a}", "f0", 'q"uote', ""]
CHOICES = {name: ["low", "high"] for name in ODD}


def shape(part: Part) -> Shape[Any]:
    return Shape(part)


def test_variables_may_be_called_anything() -> None:
    values = dict.fromkeys(ODD, "low")
    assert shape(one_of_each(CHOICES)).read(values) == values
    assert shape(keyed(dict.fromkeys(ODD, TEXT))).read(values) == values
    assert shape(keyed(dict.fromkeys(ODD, many(NAME)))).read({name: ["x"] for name in ODD}) == {name: ["x"] for name in ODD}


@pytest.mark.parametrize(
    "change",
    [{"a b": "middle"}, {"a b": "Low"}, {"a b": None}, {"a b": ["low"]}, {"mood": "low"}],
    ids=["no choice", "other case", "null", "list", "unknown variable"],
)
def test_an_illegal_value_or_variable_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        shape(one_of_each({"a b": ["low", "high"]})).read({"a b": "low", **change})


def test_a_left_out_variable_is_refused_only_where_it_is_required() -> None:
    choices = {"a": ["x"], "b": ["y"]}
    with pytest.raises(ValidationError, match="b"):
        shape(one_of_each(choices)).read({"a": "x"})
    assert shape(one_of_each(choices, required=False)).read({"a": "x"}) == {"a": "x"}


def test_the_model_is_told_no_titles_and_none_of_our_own_words() -> None:
    class Reply(BaseModel):
        """Ours."""

        title: str

    assert shape_of(Reply).json_schema == {
        "properties": {"title": {"type": "string"}},
        "required": ["title"],
        "type": "object",
    }
    assert shape_of(Reply) is shape_of(Reply)


@given(st.dictionaries(st.text(max_size=8), st.lists(st.text(max_size=8), min_size=1, max_size=4), min_size=1, max_size=4))
def test_every_choice_of_every_variable_is_legal_and_stands_in_the_schema(choices: dict[str, list[str]]) -> None:
    made = shape(one_of_each(choices))
    last = {name: values[-1] for name, values in choices.items()}
    assert made.read(last) == last
    properties: dict[str, Any] = made.json_schema["properties"]
    listed = {name: set(field.get("enum", [field.get("const")])) for name, field in properties.items()}
    assert listed == {name: set(values) for name, values in choices.items()}


TWO = keyed({"a": many(NAME, least=2, most=2)})


@pytest.mark.parametrize(
    ("part", "value"),
    [
        (keyed({"a": TEXT}), {"a": ""}),
        (keyed({"a": TEXT}), {"a": "x", "b": "y"}),
        (keyed({"a": TEXT}), {}),
        (TWO, {"a": ["x"]}),
        (TWO, {"a": ["x", "y", "z"]}),
        (TWO, {"a": ["x", "y" * 201]}),
        (TWO, {"a": ["x", " "]}),
    ],
    ids=["empty text", "unknown key", "missing key", "too few", "too many", "no name", "blank name"],
)
def test_texts_and_lists_have_their_form(part: Part, value: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        shape(part).read(value)


NAMES = st.lists(st.text(max_size=5), min_size=1, max_size=3, unique=True)
LEAVES = st.sampled_from([TEXT, NAME]) | NAMES.map(among) | st.builds(number, st.integers(0, 3), st.integers(3, 9))
PARTS = st.recursive(
    LEAVES,
    lambda inner: (
        st.builds(many, inner, least=st.integers(0, 2), most=st.none() | st.integers(2, 5))
        | st.builds(keyed, st.dictionaries(st.text(max_size=5), inner, min_size=1, max_size=3), required=st.booleans())
    ),
    max_leaves=6,
)


@given(PARTS)
def test_what_is_told_is_what_is_let_through(part: Part) -> None:
    assert part.told == told_of(part.core)
