"""Scores for the Hub: the benchmark's file in a release, and a run's file for the model's repository, as the Hub reads it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
import yaml

from dataset_card.card.benchmark_file import MEMORIES, benchmark_file
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun
from pipelines.export.formats import RunExport, run_writer
from pipelines.memories.contract import MemorySpec
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of

AT = datetime(2026, 11, 26, 12, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path / "home"))


def run_with(folder: Path, memory: MemorySpec, *, tokens: int = 100_000) -> FinishedRun:
    return finish(run_of(folder, HonestModel(), spec=memory, tokens=tokens, conditions=()))


def test_each_reference_memory_and_budget_is_a_task_of_its_own() -> None:
    told = yaml.safe_load(benchmark_file("Ours", ["base", "demo"]))
    ids = [task["id"] for task in told["tasks"]]
    assert len(set(ids)) == len(ids) == 18
    assert {"base-none", "demo-bm25-6000", "demo-full-history-100000"} <= set(ids)
    assert {(task["config"], task["split"]) for task in told["tasks"]} == {("base", "test"), ("demo", "test")}
    assert [find_memory(name).name for name in MEMORIES] == list(MEMORIES)


def test_a_run_is_written_as_the_hubs_own_parser_reads_it(tmp_path: Path) -> None:
    run = run_with(tmp_path / "run", find_memory("bm25"))
    # Late: the tests of publishing set the Hub's address before its package is imported.
    from huggingface_hub import parse_eval_result_entries

    export = RunExport(run, tmp_path / "out", AT, repo="lab/set@0f3a", source="https://example.org/run")
    told, unchecked = run_writer("eval-results")(export)
    [path] = (tmp_path / "out" / ".eval_results").iterdir()
    [entry] = parse_eval_result_entries(yaml.safe_load(path.read_text(encoding="utf-8")))
    assert (entry.dataset_id, entry.task_id, entry.dataset_revision) == ("lab/set", "rehearsal-bm25-100000", "0f3a")
    assert entry.value == run.results.metrics["overall"].value
    assert (entry.date, entry.source_url) == ("2026-11-26T12:00:00Z", "https://example.org/run")
    assert told.endswith("belongs into the repository of test-model.")
    assert unchecked == "rehearsal is not on this machine, so it was not checked that the run is over all of it."


def test_a_memory_or_budget_without_a_board_is_told_with_those_that_have_one(tmp_path: Path) -> None:
    for spec, tokens in ((find_memory("bm25"), 500), (MemorySpec(name="bm25", kind="bm25", settings={"topk": 1}), 100_000)):
        run = run_with(tmp_path / str(tokens), spec, tokens=tokens)
        with pytest.raises(
            EvaluationError, match=r"^The Hub's boards are for the memories none, full-history, .* this run is of"
        ):
            run_writer("eval-results")(RunExport(run, tmp_path / "out", AT, repo="lab/set"))
    assert not (tmp_path / "out").exists()
