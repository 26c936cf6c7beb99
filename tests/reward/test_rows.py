"""Rows for reward models: gathered from runs, with features and labels."""

from pathlib import Path

import pytest

from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import read_table, write_table
from pipelines.evaluation.isolated import EventRow, MemoryRow
from pipelines.memories.registry import MemorySpec
from pipelines.reward.rows import RewardRow, reward_rows, write_reward_rows
from tests.evaluation.test_plan import manifest
from tests.support.disks import full_disk


def row(number: int, *, right: bool, everything: bool | None = True, recalled: str = "alpha beta") -> MemoryRow:
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
        right_with_memory=right,
        right_with_none=False,
        right_with_facts=True,
        right_with_everything=everything,
    )


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
        for text in ("one two three four", "later words")
    ]
    write_table(path / "memory.parquet", rows, kind=MemoryRow)
    write_table(path / "events.parquet", events, kind=EventRow)
    return path


def test_rows_have_features_and_a_label_where_everything_is_enough(tmp_path: Path) -> None:
    rows = [row(1, right=True), row(2, right=False), row(3, right=False, everything=False), row(4, right=True, everything=None)]
    found = reward_rows([run_folder(tmp_path, "one", rows)])
    assert [(one.row.cluster, one.kept) for one in found] == [
        ("task1", True),
        ("task2", False),
        ("task3", None),
        ("task4", None),
    ]
    # Two tokens were recalled of the four of the one event that had been written.
    assert {one.features["compression"] for one in found} == {0.5}
    write_table(tmp_path / "rows.parquet", found, kind=RewardRow)
    assert read_table(tmp_path / "rows.parquet", kind=RewardRow) == found


def test_the_order_of_runs_changes_nothing(tmp_path: Path) -> None:
    runs = [run_folder(tmp_path, name, [row(number, right=True) for number in range(4)]) for name in ("one", "two", "three")]
    assert reward_rows(runs) == reward_rows(runs[::-1])


def test_a_damaged_memory_has_the_name_of_the_whole_one(tmp_path: Path) -> None:
    (found,) = reward_rows([run_folder(tmp_path, "bm25?perturbed=half", [row(1, right=True)], perturbed="half")])
    assert (found.memory, found.perturbed) == ("bm25", "half")


def test_names_faults_and_outcomes_change_no_feature(tmp_path: Path) -> None:
    outcomes = {"right_with_none": True, "right_with_facts": False, "right_with_everything": False}
    (plain,) = reward_rows([run_folder(tmp_path, "one", [row(1, right=True)])])
    planted = row(1, right=False).model_copy(update={**outcomes, "facts": ("alpha of gamma is beta",), "item": "alpha"})
    (other,) = reward_rows([run_folder(tmp_path, "alpha beta", [planted], perturbed="half")])
    assert other.features == plain.features


def test_a_folder_that_is_no_finished_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="is no finished run"):
        reward_rows([tmp_path])


def test_rows_come_back_from_their_table_and_a_table_of_another_version_is_refused(tmp_path: Path) -> None:
    rows = reward_rows([run_folder(tmp_path, "one", [row(1, right=True), row(2, right=False)])])
    write_reward_rows(tmp_path / "rows.parquet", rows)
    assert reward_rows([tmp_path / "rows.parquet"]) == rows
    write_reward_rows(tmp_path / "rows.parquet", [one.model_copy(update={"version": 1}) for one in rows])
    with pytest.raises(EvaluationError, match=r"The rows of .*rows\.parquet are of another version; write them again"):
        reward_rows([tmp_path / "rows.parquet"])
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
