"""The Agent Memory Benchmark both ways on a data set of this program, with the embedded model over HTTP.

`memory_bench` is the stand-in of the tests, which says so, unless AMB_CHECKOUT names a clone whose dependencies are installed.
"""

import json
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.embedded.bank import model_name
from pipelines.export.agent_memory_benchmark import benchmark_dataset
from tests.support.harness import BM25, LetterMode, forget, put_on_path


@pytest.fixture(autouse=True)
def _harness(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    put_on_path(monkeypatch)
    # Of the run itself: the harness wants a key of its own name, which is never used.
    monkeypatch.delenv("OPENAI_API_KEY")
    yield
    forget()


def test_its_runner_scores_an_export_by_letters(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = CliRunner().invoke(app, ["export", str(data), "--out", str(tmp_path / "export")], catch_exceptions=False)
    assert made.exit_code == 0
    monkeypatch.setenv("OPENAI_API_KEY", "never-used")
    dataset = benchmark_dataset(tmp_path / "export")
    queries = dataset.load_queries("all")
    lines = (tmp_path / "export" / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    letters = dict[str, str]()
    needed = dict[str, set[str]]()
    for query, line in zip(queries, lines, strict=True):
        letters[query.query] = "abcdefghijklmnopqrstuvwxyz"[json.loads(line)["gold_option"]]
        needed[query.query] = set(query.gold_ids)
    mode: Any = LetterMode(letters, needed)
    provider = import_module("memory_bench.memory.bm25").BM25MemoryProvider()
    summary = import_module("memory_bench.runner").EvalRunner(tmp_path / "outputs").run(dataset, "all", provider, mode)

    assert summary.total_queries == len(queries)
    # It finds thirty documents of a unit, and those of a small data set are hardly more.
    assert summary.correct >= 0.9 * summary.total_queries
    assert all("[20" in prompt and "Time of the question: " in prompt for prompt in mode.seen)


def test_its_words_provider_reaches_what_our_memory_of_words_does(data: Path) -> None:
    command = ["evaluate", str(data), "--memory", "bm25", "--memory", BM25, "--conditions", "", "--json"]
    command += [part for role in ("model", "embedding-model", "user-model") for part in (f"--{role}", model_name())]
    found = CliRunner().invoke(app, command, catch_exceptions=False)
    assert found.exit_code == 0, found.output
    runs = json.loads(found.stdout)["runs"]
    ours, theirs = (run["results"]["metrics"]["overall"]["value"] for run in runs)

    assert theirs >= ours - 0.05, (ours, theirs)
