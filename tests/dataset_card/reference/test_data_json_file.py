"""The reference's file: one JSON array, written item by item and read back, or refused."""

import json
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dataset_card.amemgym.reference.data_json import (
    ReferenceError,
    data_json,
    end_bytes,
    item_bytes,
    read_data_json,
    to_reference,
)
from dataset_card.release.writers import array_items
from tests.support import scenario


def test_data_json_is_one_indented_array_in_plain_utf8(tmp_path: Path) -> None:
    episodes = [scenario.episode(), scenario.episode("second", start_date=date(2020, 10, 2))]
    content = data_json(episodes)
    expected = json.dumps([to_reference(episode) for episode in episodes], ensure_ascii=False, indent=2) + "\n"
    assert content == expected.encode()
    (tmp_path / "data.json").write_bytes(content)
    assert data_json(read_data_json(tmp_path / "data.json")) == content
    assert data_json([]) == b"[]\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not readable as JSON"),
        ("{}", "one JSON array"),
        ('[{"id": "a", "id": "b"}]', "'id' occurs twice"),
        ("[1]", r"Item \[0\]"),
        ("[" * 5000 + "]" * 5000, "nested in it more than 100 levels deep"),
    ],
)
def test_a_file_that_is_no_such_array_is_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "data.json").write_text(text)
    with pytest.raises(ReferenceError, match=message):
        read_data_json(tmp_path / "data.json")


WORDS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(st.lists(st.dictionaries(st.text(), WORDS, min_size=1), max_size=4))
def test_items_are_read_one_by_one_as_they_were_written(items: list[dict[str, Any]]) -> None:
    parts = [item_bytes(item, first=not place) for place, item in enumerate(items)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.json"
        path.write_bytes(b"".join([*parts, end_bytes(empty=not items)]))
        assert list(array_items(path)) == items
        assert path.read_bytes().decode() == json.dumps(items, ensure_ascii=False, indent=2) + "\n"


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '[{"id": "a"}]', '[\n  {\n    "id": "a"\n  }\n', '[\n  {\n    "id": \n  }\n]\n']
)
def test_items_of_another_layout_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "data.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"laid out|Expecting value"):
        list(array_items(path))


def test_two_items_with_one_id_are_refused(tmp_path: Path) -> None:
    (tmp_path / "data.json").write_bytes(data_json([scenario.episode(), scenario.episode()]))
    with pytest.raises(ReferenceError, match="another item has the same id"):
        read_data_json(tmp_path / "data.json")
