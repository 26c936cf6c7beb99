"""A run can be killed, taken up, repeated without a model, and read again; its bytes are always the same."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from assets.llm.ports import EndpointError
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import LATENCY, read_run
from pipelines.evaluation.run import Run
from pipelines.memories.contract import MemorySpec
from pipelines.resources.cache.reply_cache import CachedModel, open_replies
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of

AWE = MemorySpec(name="awe", kind="awe")


def files(work: Run) -> dict[str, bytes]:
    """The folder's files by name, without the one that tells how long things took."""
    return {path.name: path.read_bytes() for path in sorted(work.folder.path.iterdir()) if path.name != LATENCY}


@pytest.mark.parametrize("calls", [1, 15, 30, 45])
def test_a_run_that_broke_off_goes_on_without_asking_anything_twice(tmp_path: Path, calls: int) -> None:
    whole = run_of(tmp_path / "whole", HonestModel(), spec=AWE)
    finish(whole)
    store = open_replies(tmp_path / "calls.sqlite")
    model = HonestModel(calls_left=calls)
    broken = run_of(tmp_path / "broken", CachedModel(model, store=store, mode="use"), spec=AWE)
    with pytest.raises(EndpointError):
        finish(broken)
    broken.folder.close()
    model.calls_left = 1_000_000
    finish(broken)
    store.close()

    assert files(broken) == files(whole)
    assert len(model.requests) == len({repr(request) for request in model.requests})


def test_a_damaged_step_is_told_and_made_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole, broken = run_of(tmp_path / "whole", HonestModel()), run_of(tmp_path / "broken", HonestModel(calls_left=65))
    finish(whole)
    with pytest.raises(EndpointError):
        finish(broken)
    broken.folder.close()
    with closing(sqlite3.connect(broken.folder.path / "steps.sqlite")) as connection, connection:
        assert connection.execute("UPDATE steps SET value = CAST(replace(value, '\"', '') AS BLOB)").rowcount

    again = run_of(tmp_path / "broken", HonestModel())
    finish(again)

    assert files(again) == files(whole)
    assert "A row of steps" in caplog.text


@pytest.mark.parametrize("damaged", [b"", b"{", b"[]", b"\xff"])
def test_damaged_results_are_made_again(tmp_path: Path, damaged: bytes) -> None:
    work = run_of(tmp_path, HonestModel())
    finish(work)
    before = files(work)
    (work.folder.path / "results.json").write_bytes(damaged)

    assert not work.folder.finished
    finish(run_of(tmp_path, HonestModel()))

    assert files(work) == before


def test_a_replay_without_a_model_gives_the_same_bytes(tmp_path: Path) -> None:
    store = open_replies(tmp_path / "calls.sqlite")

    first = run_of(tmp_path / "first", CachedModel(HonestModel(), store=store, mode="use"))
    again = run_of(tmp_path / "again", CachedModel(HonestModel(calls_left=0), store=store, mode="replay"))
    finish(first)
    finish(again)
    store.close()

    assert files(again) == files(first)


def test_attempts_are_runs_of_their_own(tmp_path: Path) -> None:
    first, second = run_of(tmp_path, HonestModel()), run_of(tmp_path, HonestModel(), attempt=1)

    assert first.manifest.run_id != second.manifest.run_id


def test_a_finished_run_is_read_as_it_was_written(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel())
    finished = finish(work)
    reread = read_run(work.manifest.run_id[:30], runs=tmp_path)

    assert reread == replace(finished, answers=reread.answers, turns=reread.turns)
    assert list(reread.answers) == list(finished.answers)
    assert list(reread.turns) == list(finished.turns)


def test_an_unfinished_run_is_no_result(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel(calls_left=1))
    with pytest.raises(EndpointError):
        finish(work)
    work.folder.close()

    with pytest.raises(EvaluationError, match="not finished"):
        read_run(work.manifest.run_id, runs=tmp_path)


@pytest.mark.parametrize("name", ["answers.parquet", "turns.parquet"])
def test_a_damaged_table_is_one_sentence(tmp_path: Path, name: str) -> None:
    work = run_of(tmp_path, HonestModel())
    finish(work)
    (work.folder.path / name).write_bytes(b"PAR1 was a table PAR1")

    with pytest.raises(EvaluationError, match="cannot be read"):
        read_run(work.manifest.run_id, runs=tmp_path)
