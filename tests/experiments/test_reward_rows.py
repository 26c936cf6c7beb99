"""Rows for reward models: gathered from runs, labelled, split without leaks, and the floor of trivial baselines."""

from pathlib import Path

import pytest

from pipelines.errors import EvaluationError
from pipelines.evaluation.folder import read_table, write_table
from pipelines.evaluation.isolated import EventRow, MemoryRow
from pipelines.experiments.reward_rows import BASELINES, RewardRow, area_under, floors, reward_rows
from pipelines.memories.registry import MemorySpec
from tests.evaluation.test_plan import manifest

ITEMS = 40


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


def run_folder(folder: Path, memory: str, rows: list[MemoryRow]) -> Path:
    """A finished run of a memory; only the first of two events of each item had been written."""
    path = folder / memory
    path.mkdir()
    spec = MemorySpec(name=memory, kind="full-history")
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


def test_rows_have_what_was_written_and_a_label_where_everything_is_enough(tmp_path: Path) -> None:
    rows = [row(1, right=True), row(2, right=False), row(3, right=False, everything=False), row(4, right=True, everything=None)]
    found = reward_rows([run_folder(tmp_path, "one", rows)])
    assert [(one.row.cluster, one.kept) for one in found] == [
        ("task1", True),
        ("task2", False),
        ("task3", None),
        ("task4", None),
    ]
    assert {(one.written_tokens, one.memory) for one in found} == {(4, "one")}
    write_table(tmp_path / "rows.parquet", found, kind=RewardRow)
    assert read_table(tmp_path / "rows.parquet", kind=RewardRow) == found


def test_the_order_of_runs_changes_nothing_and_no_item_or_memory_is_in_both_parts(tmp_path: Path) -> None:
    names = ("one", "two", "three", "four", "five")
    runs = [run_folder(tmp_path, name, [row(number, right=True) for number in range(ITEMS)]) for name in names]
    found = reward_rows(runs)
    assert found == reward_rows(runs[::-1])
    for value, split in (("cluster", "item_split"), ("memory", "memory_split")):
        parts = {(getattr(one.row if value == "cluster" else one, value), getattr(one, split)) for one in found}
        assert len({name for name, _ in parts}) == len(parts)
        assert {part for _, part in parts} == {"train", "test"}


def test_a_baseline_that_tells_the_rows_apart_is_found_whichever_way_it_points(tmp_path: Path) -> None:
    rows = [
        row(number, right=number % 2 == 0, recalled="alpha" if number % 2 == 0 else "beta beta beta") for number in range(ITEMS)
    ]
    found = {(one.baseline, one.split): one for one in floors(reward_rows([run_folder(tmp_path, "one", rows)]), seed=1)}
    assert set(found) == {(name, "item_split") for name in BASELINES}
    assert all(one.area.value == 1.0 for one in found.values())
    assert 0 < found["overlap", "item_split"].rows < ITEMS


def test_chance_is_a_half_and_its_interval_is_over_items(tmp_path: Path) -> None:
    rows = reward_rows([run_folder(tmp_path, "one", [row(number, right=number % 2 == 0) for number in range(ITEMS)])])
    same = area_under(rows, lambda _: 1.0, seed=1)
    assert (same.value, same.low, same.high) == (0.5, 0.5, 0.5)
    mixed = area_under(rows, lambda one: float(len(one.row.cluster) + int(one.row.cluster[4:]) * 7 % 5), seed=1)
    assert mixed.low is not None
    assert mixed.value is not None
    assert mixed.high is not None
    assert mixed.low < mixed.value < mixed.high


def test_a_folder_that_is_no_finished_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(EvaluationError, match="is no finished run"):
        reward_rows([tmp_path])
