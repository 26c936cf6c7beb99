"""A memory in a file of its own: what it imports from its folder is part of it."""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from pipelines.evaluation.memories.registry import source_digest

MINE = """
import helpers.index
from helpers import shared
from helpers.words.plain import split


class Mine:
    def recall(self):
        from later import found
"""
FILES = {
    "mine.py": MINE,
    "later.py": "found = 1",
    "helpers/index.py": "from . import stop",
    "helpers/shared.py": "",
    "helpers/stop.py": "",
    "helpers/words/__init__.py": "",
    "helpers/words/plain.py": "from ..stop import *\nsplit = str.split",
    "helpers/unused.py": "",
}


@pytest.fixture(autouse=True)
def _own_imports(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    before = set(sys.modules)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def written(folder: Path, files: Mapping[str, str]) -> str:
    """The kind of the memory in these files."""
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return f"{folder / 'mine.py'}:Mine"


def test_an_edited_helper_is_another_run_wherever_it_lies_and_whenever_it_is_imported(tmp_path: Path) -> None:
    kind = written(tmp_path, FILES)
    digests = [source_digest(kind)]
    for name, text in FILES.items():
        written(tmp_path, {name: f"{text}\nchanged = True"})
        digests.append(source_digest(kind))

    assert [one != before for before, one in zip(digests, digests[1:], strict=False)] == [True] * (len(FILES) - 1) + [False]


def test_a_broken_file_that_is_imported_later_stops_nothing_before(tmp_path: Path) -> None:
    assert source_digest(written(tmp_path, {**FILES, "later.py": "found = ("}))
