"""Rows for reward models: gathered from runs, with labels."""

import os
from pathlib import Path

import pytest

from assets.text.words import count_tokens
from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import read_table, write_table
from pipelines.evaluation.metrics.isolated_scores import MemoryRow
from pipelines.evaluation.records import EventRow
from pipelines.experiments.reward_model.rows import RewardRow, WrittenTexts, reward_rows, write_reward_rows
from pipelines.memories.contract import MemorySpec
from tests.evaluation.test_plan import manifest
from tests.support.disks import full_disk


def row(
    number: int, *, right: bool, everything: bool | None = True, recalled: str = "alpha beta", fact_recall: float | None = None
) -> MemoryRow:
    return MemoryRow(
        cluster=f"task{number}",
        length=100,
        item="q",
        turn=1,
        query="What is alpha of gamma?",
        written=1,
        budget=50,
        recalled=(recalled,),
        recalled_tokens=len(recalled.split()),
        fact_recall=fact_recall,
        right_with_memory=right,
        right_with_none=False,
        right_with_facts=True,
        right_with_everything=everything,
    )


FIRST = "one two of gamma"


def run_folder(folder: Path, memory: str, rows: list[MemoryRow], *, perturbed: str = "") -> Path:
    """A finished run of a memory; only the first of two events of each item had been written."""
    path = folder / memory
    path.mkdir()
    spec = MemorySpec(name=memory, kind="full-history", settings={"perturbed": perturbed} if perturbed else {})
    (path / "manifest.json").write_text(manifest(spec).model_dump_json())
    (path / "results.json").write_text("{}")
    events = [
        EventRow(cluster=one.cluster, length=one.length, text=text, kind="document", at="", source="")
        for one in rows
        for text in (FIRST, "alpha was told later")
    ]
    write_table(path / "memory.parquet", rows, kind=MemoryRow)
    write_table(path / "events.parquet", events, kind=EventRow)
    return path


def test_rows_have_a_label_where_everything_is_enough(tmp_path: Path) -> None:
    rows = [row(1, right=True), row(2, right=False), row(3, right=False, everything=False), row(4, right=True, everything=None)]
    found = reward_rows([run_folder(tmp_path, "one", rows)])
    assert [(one.row.cluster, one.kept) for one in found] == [
        ("task1", True),
        ("task2", False),
        ("task3", None),
        ("task4", None),
    ]
    # Of two events, only the first had been written.
    assert {one.written_tokens for one in found} == {count_tokens(FIRST)}
    assert {one.nearest for one in found} == {(FIRST,)}
    write_table(tmp_path / "rows.parquet", found, kind=RewardRow)
    assert read_table(tmp_path / "rows.parquet", kind=RewardRow) == found


def test_the_order_of_runs_changes_nothing(tmp_path: Path) -> None:
    runs = [run_folder(tmp_path, name, [row(number, right=True) for number in range(4)]) for name in ("one", "two", "three")]
    assert reward_rows(runs) == reward_rows(runs[::-1])


def test_a_damaged_memory_has_the_name_of_the_whole_one(tmp_path: Path) -> None:
    (found,) = reward_rows([run_folder(tmp_path, "bm25?perturbed=half", [row(1, right=True)], perturbed="half")])
    assert (found.memory, found.perturbed, found.cell) == ("bm25", "half", ("amemgym", "bm25?perturbed=half", 50))


def test_the_events_that_share_the_rarest_words_with_a_query_are_kept_in_order_of_time() -> None:
    told = [f"Day {number} had rain in the harbour." for number in range(8)]
    texts = WrittenTexts([*told[:4], "Ada moved her boat.", *told[4:], "Ada painted the boat red.", "Later the boat sank."])
    found = texts.nearest("Which boat has Ada in the harbour?", written=10)
    assert [text for text in found if "boat" in text] == ["Ada moved her boat.", "Ada painted the boat red."]
    assert len(found) <= 5
    assert texts.nearest("Zebra?", written=11) == ()


def test_a_folder_that_is_no_finished_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="is no finished run"):
        reward_rows([tmp_path])


def test_a_pipe_in_place_of_a_run_s_table_is_refused(tmp_path: Path) -> None:
    folder = run_folder(tmp_path, "bm25", [row(1, right=True)])
    (folder / "memory.parquet").unlink()
    os.mkfifo(folder / "memory.parquet")
    with pytest.raises(EvaluationError, match=r"memory\.parquet cannot be read: it is a folder, a pipe or a device"):
        reward_rows([folder])


def test_rows_come_back_from_their_table_and_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    rows = reward_rows([run_folder(tmp_path, "one", [row(1, right=True), row(2, right=False)])])
    write_reward_rows(tmp_path / "rows.parquet", rows)
    assert reward_rows([tmp_path / "rows.parquet"]) == rows
    (tmp_path / "rows.parquet").write_text("no table")
    with pytest.raises(EvaluationError, match="is no table of rows that can be read"):
        reward_rows([tmp_path / "rows.parquet"])


def test_a_table_that_cannot_be_written_leaves_the_earlier_one_whole(tmp_path: Path) -> None:
    rows = reward_rows([run_folder(tmp_path, "one", [row(1, right=True)])])
    write_reward_rows(tmp_path / "out" / "rows.parquet", rows)
    with full_disk(), pytest.raises(OSError, match="File too large"):
        write_reward_rows(tmp_path / "out" / "rows.parquet", [])
    assert reward_rows([tmp_path / "out" / "rows.parquet"]) == rows
    assert [file.name for file in (tmp_path / "out").iterdir()] == ["rows.parquet"]
