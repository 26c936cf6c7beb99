"""A memory in a file of its own: what it imports from its folder is part of it, and is never taken from another's folder."""

import sys
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from pipelines.errors import EvaluationError
from pipelines.memories.code_identity import code_files, source_digest
from pipelines.memories.registry import factory_of

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
    digests = [source_digest(code_files(kind))]
    for name, text in FILES.items():
        written(tmp_path, {name: f"{text}\nchanged = True"})
        digests.append(source_digest(code_files(kind)))

    assert [one != before for before, one in pairwise(digests)] == [True] * (len(FILES) - 1) + [False]


def test_a_file_that_code_or_a_setting_names_is_part_of_the_memory_unless_it_is_private_or_elsewhere(
    tmp_path: Path,
) -> None:
    (tmp_path / "key.txt").write_text("key")
    own = tmp_path / "own"
    code = "NAMES = ['keys.json', 'data', 'more.txt', '.env', '../key.txt', 'key.txt', 'other.py']"
    kind = written(own, {"mine.py": code, "other.py": "import later", "later.py": "", "keys.json": "{}", ".env": "key"})
    written(own, {"data/more.txt": "", "data/unnamed.txt": "", "unnamed.json": "", "set.txt": ""})
    (own / "key.txt").symlink_to(tmp_path / "key.txt")
    named = {"mine.py", "other.py", "later.py", "keys.json", "data/more.txt"}
    assert set(code_files(kind)) == named
    assert set(code_files(kind, texts=["set.txt"])) == set(code_files(kind, texts=[f"{own}/set.txt"])) == {*named, "set.txt"}


def test_a_broken_file_that_is_imported_later_stops_nothing_before(tmp_path: Path) -> None:
    assert source_digest(code_files(written(tmp_path, {**FILES, "later.py": "found = ("})))


def test_in_one_process_a_helper_is_not_taken_from_the_folder_of_another_memory(tmp_path: Path) -> None:
    mine = {"mine.py": "import keeping\n\n\nclass Mine:\n    kept = keeping.KEPT\n"}
    first = written(tmp_path / "first", {**mine, "keeping.py": "KEPT = 1"})
    second = written(tmp_path / "second", {**mine, "keeping.py": "KEPT = 2"})
    assert vars(factory_of(first))["kept"] == 1
    with pytest.raises(
        EvaluationError, match=r"second/mine\.py imports keeping\.py, and .*/first has one too, .*in two commands"
    ):
        factory_of(second)
    assert factory_of(first)
    assert factory_of(written(tmp_path / "third", {"mine.py": "class Mine: ..."}))
