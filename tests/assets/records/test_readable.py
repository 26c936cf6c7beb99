"""What the last check of a run refuses in a text, the first check of a reply refuses too."""

import json
import re
from collections.abc import Iterator

import pytest
from pydantic_core import to_json

from assets.records.readable import UNREADABLE, is_readable_json, unreadable_in
from validation.expectations.project import PROJECT

CHARACTERS = [chr(code) for code in range(0x10000)]


def refused_by_the_last_check() -> Iterator[str]:
    """The characters that the suites forbid in some column."""
    for path in PROJECT.rglob("expectations/*/*.json"):
        for expectation in json.loads(path.read_bytes())["expectations"]:
            pattern = expectation["kwargs"].get("regex", "")
            if expectation["type"] == "expect_column_values_to_not_match_regex" and not pattern.startswith("^"):
                yield from re.findall(pattern, "".join(CHARACTERS))


def test_whatever_character_the_last_check_refuses_a_reply_cannot_bring() -> None:
    refused = set(refused_by_the_last_check())
    assert "\0" in refused
    assert [one for one in refused if not UNREADABLE.search(one)] == []


def test_whatever_no_file_can_hold_a_reply_cannot_bring() -> None:
    def fails(one: str) -> bool:
        try:
            to_json(one)
        except ValueError:
            return True
        return False

    assert [one for one in CHARACTERS if fails(one) and not UNREADABLE.search(one)] == []


@pytest.mark.parametrize("value", ["\0", {"\x01": 1}, [[{"a": ["\x1b"]}]], ("fine", "\ufffd")])
def test_such_a_character_is_found_wherever_it_stands(value: object) -> None:
    assert unreadable_in(value).startswith("U+")


def test_ordinary_texts_of_any_script_stay() -> None:
    assert unreadable_in({"text": "Zeile\r\n\tмир 日本語 العربية 🙂 \u200d \u2028 ~"}) == ""


@pytest.mark.parametrize("text", ["\0", "\x08", "\x0c", "\x1f", "\x7f", "\ufffd", "\\u0000", "\\b", "C:\\u0001", 'a "\\" b\n'])
def test_json_tells_such_characters_from_what_only_spells_them(text: str) -> None:
    stored = to_json({"text": text}).decode()
    assert is_readable_json(stored) == (not unreadable_in(text))
