"""JSON that somebody else wrote: a value, or one reason why it is none."""

import pytest

from assets.records.json_text import MOST_LEVELS, JsonError, parse_json


def nested(levels: int) -> str:
    return "[" * levels + "]" * levels


@pytest.mark.parametrize("levels", [MOST_LEVELS + 1, 700, 5000])
@pytest.mark.parametrize("around", ["{}", '{{"a": {}}}', '[{{"a": 1}}, {}]'])
def test_what_is_nested_deeper_than_any_file_needs_is_refused_at_any_depth(levels: int, around: str) -> None:
    with pytest.raises(JsonError, match="nested in it more than 100 levels deep"):
        parse_json(around.format(nested(levels)))


def test_what_is_nested_as_deep_as_it_may_be_is_read() -> None:
    assert parse_json(nested(MOST_LEVELS)) is not None
    assert parse_json('{"a": [1, {"b": null}]}') == {"a": [1, {"b": None}]}


@pytest.mark.parametrize(
    ("content", "reason"),
    [(b"", "Expecting value"), (b"{", "Expecting"), (b'["\xff"]', r"not UTF-8 \(byte 2\)"), (b"9" * 5000, "5000 digits")],
)
def test_what_is_no_json_is_refused_with_its_reason(content: bytes, reason: str) -> None:
    with pytest.raises(JsonError, match=reason):
        parse_json(content)
