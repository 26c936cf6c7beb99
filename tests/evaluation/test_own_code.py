"""A memory in a file of its own: what it imports from its folder is part of it."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

from pipelines.memories.code_identity import code_files, source_digest

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
