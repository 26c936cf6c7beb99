"""Additions are cheap, and counted: the files that each kind opens beside its own, in a copy of the repository that then works.

The guide's pages are the additions of a check, a stage and a benchmark. Tests are an addition's own. That another model API
works is in `tests/pipelines/llm/test_model_api.py`.
"""

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.commands import clean_environment, run_in_turn
from tests.support.guide import copy_of_the_repository, enter_into_metadata, fences, pages, write

MEMORY = '''"""A memory of the last event alone."""

from pipelines.memories.built_in.base import CopiedMemory


class LastEvent(CopiedMemory):
    line = ""

    async def write(self, events):
        self.line = events[-1].line

    async def recall(self, query, *, tokens):
        return [self.line]
'''
API = '''"""Another provider's API."""

from pipelines.resources.llm.model_api import OpenAiChat


class OtherChat(OpenAiChat):
    """Its own three functions."""
'''
COMMAND = '''"""A command of one function."""


def {name}() -> None:
    """{sentence}"""
    print("done")
'''
# What the copy says of what was added, in one process.
PROGRAM = """
import json
from pathlib import Path

from assets.amemgym.pipeline import AMEMGYM
from pipelines.cli.main import load_command, summary_of
from pipelines.definitions import defs
from pipelines.embedded.app import writers_of
from pipelines.evaluation.options import read_options
from pipelines.evaluation.records import RunManifest
from pipelines.export.formats import release_writer
from pipelines.memories.kinds import embeds
from pipelines.memories.registry import find_memory
from pipelines.opening.models import OtherChat
from validation.amemgym.benchmark import RULES

keys = {key.to_user_string() for key in defs.resolve_asset_graph().get_all_asset_keys()}
print(json.dumps({
    "a check": "events_brief" in [rule.name for rule in RULES["events"]],
    "a stage": "amemgym/mottos" in keys and all([writers_of("mottos/write"), RULES["mottos"], AMEMGYM.stage("mottos").prompts]),
    "a benchmark": {f"coins/coins_{name}" for name in ("recipe", "tossed", "release", "evaluation")} <= keys,
    "a benchmark of documents": {f"stalls/stalls_{name}" for name in ("recipe", "questions", "ablation", "release")} <= keys,
    "a built-in memory": find_memory("last").kind == "last" and not embeds("last"),
    "another model API": OtherChat().most_bytes > 0,
    "an option of evaluate": RunManifest.model_fields["patience"].default < read_options({"patience": 4}, source="").patience,
    "a command": summary_of("toss") == load_command("toss").help == "Toss a coin.",
    "an export format": release_writer("blank")(None, Path()) == ["Nothing was written."],
}))
"""


@dataclass(frozen=True)
class Addition:
    """Files of its own by path, and what is put before a line of files that are there: path, that line, new line."""

    own: Mapping[str, str]
    changes: tuple[tuple[str, str, str], ...]

    def make(self, place: Path) -> set[str]:
        """Write it into a copy of the repository; return the files that had to be opened."""
        for path, text in self.own.items():
            assert not (place / path).exists()
            (place / path).write_text(text, encoding="utf-8")
        for path, line, new in self.changes:
            text = (place / path).read_text(encoding="utf-8")
            assert text.count(line) == 1, (path, line)
            (place / path).write_text(text.replace(line, new + line), encoding="utf-8")
        enter_into_metadata(place)
        return {path for path, _, _ in self.changes}


PROJECT = "pyproject.toml"
ADDITIONS = {
    "a built-in memory": Addition(
        {"pipelines/memories/last.py": MEMORY},
        (
            (PROJECT, 'none = "pipelines.memories', 'last = "pipelines.memories.last:LastEvent"\n'),
            ("pipelines/memories/memories.yaml", "none: {kind: none}", "last: {kind: last}\n"),
        ),
    ),
    "another model API": Addition(
        {"pipelines/resources/llm/other_api.py": API},
        (
            (
                "pipelines/opening/models.py",
                "from pipelines.resources.llm.place",
                "from pipelines.resources.llm.other_api import OtherChat\n",
            ),
            (
                "pipelines/opening/models.py",
                "        client = open_client(settings, api=OpenAiChat(origins))",
                "        open_client(settings, api=OtherChat())\n",
            ),
        ),
    ),
    "a command": Addition(
        {"pipelines/cli/toss.py": COMMAND.format(name="toss", sentence="Toss a coin.")},
        ((PROJECT, 'evolve = "', 'toss = "pipelines.cli.toss:toss"\n'),),
    ),
    "an option of evaluate": Addition(
        {},
        (
            (
                "pipelines/evaluation/records.py",
                "    settle: float = Field(",
                '    patience: int = Field(default=3, ge=1, description="How often a reasoner looks again.")\n',
            ),
            ("pipelines/evaluation/README.md", "| `settle` |", "| `patience` | how often a reasoner looks again |\n"),
        ),
    ),
    "an export format": Addition(
        {
            "pipelines/export/blank.py": 'def write_blank(tasks, folder):\n    return ["Nothing was written."]\n',
        },
        ((PROJECT, 'documents = "', 'blank = "pipelines.export.blank:write_blank"\n'),),
    ),
}
MOST_OPENED = {
    "a check": 1,
    "a stage": 3,
    "a benchmark": 1,
    "a benchmark of documents": 1,
    "a built-in memory": 2,
    "another model API": 2,
    "a command": 1,
    "an option of evaluate": 2,  # and the module where it acts
    "an export format": 1,
}


# Additions that a page of the guide makes.
PAGES = {
    "a stage": "stage",
    "a check": "check",
    "a benchmark": "benchmark",
    "a benchmark of documents": "document-benchmark",
}


@dataclass(frozen=True)
class Extended:
    """A copy of the repository with every addition, and the files that each had to open."""

    place: Path
    opened: dict[str, set[str]]


@pytest.fixture(scope="module")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Extended:
    place = copy_of_the_repository(tmp_path_factory.mktemp("copy") / "copy")
    opened: dict[str, set[str]] = {}
    for kind, page in PAGES.items():
        told = [fence for fence in fences(pages()[page]) if fence.kind != "sh"]
        for fence in told:
            write(fence, place=place)
        opened[kind] = {path for fence in told for path in re.findall(r"^\+\+\+ b/(.+)$", fence.text, re.MULTILINE)}
    for kind, addition in ADDITIONS.items():
        opened[kind] = addition.make(place)
    return Extended(place, opened)


def test_an_addition_opens_few_files_beside_its_own_and_is_there_then(extended: Extended, tmp_path: Path) -> None:
    for kind, most in MOST_OPENED.items():
        source = {path for path in extended.opened[kind] if not path.startswith("tests/")}
        assert 1 <= len(source) <= most, (kind, source)
    line, environment = [sys.executable, "-c", PROGRAM], clean_environment(tmp_path)
    done = subprocess.run(line, cwd=extended.place, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout) == dict.fromkeys(MOST_OPENED, True)


def test_added_benchmarks_are_made_and_released_as_ours_are_and_one_of_documents_is_three_files_and_goes_all_the_way(
    extended: Extended, tmp_path: Path
) -> None:
    files = [fence.path for fence in fences(pages()["document-benchmark"]) if fence.path]
    assert files == ["assets/stalls.py", "pipelines/recipes/stalls.yaml", "pipelines/benchmarks/stalls.py"]
    commands = [
        ["generate", "coins"],
        ["generate", "stalls"],
        ["verify", "stalls"],
        ["show", "1", "--variant", "stalls"],
        ["evaluate", "stalls", "--memory", "bm25", "--memory", "none", "--json"],
        ["export", "stalls", "--out", str(tmp_path / "exported")],
    ]
    told = run_in_turn(commands, clean_environment(tmp_path), folder=extended.place)
    assert [status for status, _ in told] == [0] * len(commands), told
    manifest = json.loads((tmp_path / "releases" / "coins" / "0.1.0" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["counts"] == {"coins": 3}
    *_, (_, shown), (_, scored), _ = told
    assert "What is the price at" in shown
    right = [found["results"]["metrics"]["overall"]["value"] for found in json.loads(scored)["runs"]]
    assert right == [1.0, 0.0]
    assert len((tmp_path / "exported" / "questions.jsonl").read_text(encoding="utf-8").splitlines()) == 3
