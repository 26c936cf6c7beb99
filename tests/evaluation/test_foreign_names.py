"""Memories beside modules that are called like our folders: their own win, in a process of theirs and in ours."""

import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from pipelines.memories.code_identity import code_files
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.hosting.confinement import Confinement
from tests.evaluation.test_memories import recalled_anew

MEMORY = """
class Mine:
    def __init__(self):
        self.lines = []

    def write(self, events):
        self.lines += [event.text for event in events]

    def recall(self, query, *, tokens):
"""
IN_SRC = "import sys\nfrom pathlib import Path\n\nsys.path.insert(0, str(Path(__file__).parent / 'src'))\n"
# By the project that is laid out so. Each memory recalls "own" and what was written.
LAYOUTS: dict[str, Mapping[str, str]] = {
    "mem0": {
        "mine.py": f"from mem0.memory import make\nfrom prompts import OWN\n{MEMORY}        return [OWN + make(), *self.lines]",
        "prompts.py": "OWN = 'o'",
        "mem0/__init__.py": "",
        "mem0/memory.py": "import importlib\n\n\ndef make():\n    return importlib.import_module('mem0.stores.vectors').MADE",
        "mem0/stores/__init__.py": "",
        "mem0/stores/vectors.py": "from ..rest import MADE",
        "mem0/rest.py": "MADE = 'wn'",
    },
    "MemOS": {
        "mine.py": f"{IN_SRC}\nfrom memos.api import OWN\n{MEMORY}        return [OWN, *self.lines]",
        "src/memos/__init__.py": "",
        "src/memos/api.py": "from memos.templates import OWN",
        "src/memos/templates.py": "OWN = 'own'",
        "pipelines/__init__.py": "raise ImportError('which nobody needs')",
    },
    "MemoBrain": {
        "mine.py": f"{MEMORY}        from prompts import OWN\n\n        return [OWN, *self.lines]",
        "prompts/__init__.py": "from .texts import OWN",
        "prompts/texts.py": "import prompts\n\nOWN = 'own'\nassert prompts.__file__",
    },
    "src": {
        "mine.py": f"{IN_SRC}\nimport validation.checks as checks\n{MEMORY}        return [checks.OWN, *self.lines]",
        "src/validation/checks.py": "import pipelines.own\n\nOWN = pipelines.own.NAME",
        "src/pipelines/__init__.py": "",
        "src/pipelines/own.py": "NAME = 'own'",
    },
    "assets": {
        "mine.py": f"from assets.store import Store\n{MEMORY}        return [Store().name, *self.lines]",
        "assets/__init__.py": "",
        "assets/store.py": "from dataclasses import dataclass\n\n\n@dataclass\nclass Store:\n    name: 'str' = 'own'",
    },
}


@pytest.fixture(autouse=True)
def _path(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setattr(sys, "path", [*sys.path])


def written(folder: Path, files: Mapping[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    return f"{folder / 'mine.py'}:Mine"


def recalled(kind: str, *, in_process: bool) -> list[str]:
    return recalled_anew(kind, texts=["tea"], given=Confinement(in_process))


@pytest.mark.parametrize("in_process", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_memory_finds_its_own_modules_whatever_they_are_called(layout: str, in_process: bool, tmp_path: Path) -> None:
    kind = written(tmp_path, LAYOUTS[layout])
    assert recalled(kind, in_process=in_process) == ["own", "tea"]
    imported = set(LAYOUTS[layout]) - {
        "pipelines/__init__.py",
        "mem0/stores/__init__.py",
        "mem0/stores/vectors.py",
        "mem0/rest.py",
    }
    assert imported <= set(code_files(kind))


@pytest.mark.parametrize("in_process", [False, True])
def test_what_a_memory_may_import_of_ours_has_one_name(in_process: bool, tmp_path: Path) -> None:
    code = f"from amemgym.prompts.template import Message\n{MEMORY}        return [Message('user', 'own').content, *self.lines]"
    assert recalled(written(tmp_path, {"mine.py": code}), in_process=in_process) == ["own", "tea"]


@pytest.mark.parametrize("in_process", [False, True])
def test_what_a_memory_raises_is_told_with_file_and_line(in_process: bool, tmp_path: Path) -> None:
    kind = written(tmp_path, {"mine.py": f"{MEMORY}        import prompts", "prompts.py": "\nraise KeyError('boat')"})
    with pytest.raises(MemoryFailed, match=r"failed in 'recall': KeyError: 'boat' \(prompts\.py, line 2\)"):
        recalled(kind, in_process=in_process)


def test_in_our_process_memories_of_two_folders_each_have_their_own_helpers(tmp_path: Path) -> None:
    code = f"import helper\n{MEMORY}        return [helper.NAME]"
    for name in ("first", "second"):
        kind = written(tmp_path / name, {"mine.py": code, "helper.py": f"NAME = {name!r}"})
        assert recalled(kind, in_process=True) == [name]
