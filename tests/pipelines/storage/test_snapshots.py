"""A snapshot appears whole or not at all, is named by its rows, and gives them back."""

import gc
import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.amemgym.records.persona import UserProfile
from assets.amemgym.records.question import QuestionSet
from assets.engine.ports import SnapshotRef, UnreadableValue
from assets.engine.provenance import ResolvedRecipe
from assets.recipe.loading import load_recipe
from pipelines.resources.storage.file_store import HOST
from pipelines.resources.storage.io_manager import AssetValueIOManager
from pipelines.resources.storage.snapshots import ParquetSnapshots, SnapshotError
from tests.pipelines.storage.snapshot_rows import FAILURE, folder_of, profile, questions, rows, write

ROOT = Path(__file__).parents[3]
KINDS = ("part-00000", "part-00001", "carried-user_profiles-00000")


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


CURE = "materialize 'questions' of 'demo' again, or in a terminal: amemgym generate demo$"


@pytest.fixture
def store(tmp_path: Path) -> ParquetSnapshots:
    return ParquetSnapshots(tmp_path / "snapshots")


def test_a_snapshot_gives_its_rows_back_own_and_carried(store: ParquetSnapshots) -> None:
    ref = write(store, [[0, 2], [4]])
    assert store.read(ref, "questions", record=QuestionSet) == {p: questions(p) for p in (0, 2, 4)}
    assert store.read(ref, "user_profiles", record=UserProfile) == {4: profile(4)}
    assert store.read(ref, "answers", record=QuestionSet) == {}
    assert (ref.items, ref.failures.items, store.failures(ref)) == (3, 1, [FAILURE])
    assert list(store.positions(ref)) == [[0, 2], [4]]


def test_only_wanted_positions_are_read_and_other_parts_are_not_opened(store: ParquetSnapshots) -> None:
    ref = write(store, [[0, 1, 2], [5, 6]])
    (folder_of(store) / ref.parts[1].path).unlink()
    assert store.read(ref, "questions", record=QuestionSet, positions=[2, 0, 3]) == {0: questions(0), 2: questions(2)}
    assert store.read(ref, "questions", record=QuestionSet, positions=[]) == {}
    with pytest.raises(
        SnapshotError, match=r"part-00001-[0-9a-f]{8}\.parquet is missing; materialize 'questions' of 'demo' again, or"
    ):
        store.read(ref, "questions", record=QuestionSet)


def test_the_folder_holds_what_it_should_and_nothing_else(store: ParquetSnapshots) -> None:
    ref = write(store, [[0], [], [2]])
    home = folder_of(store) / "questions" / "demo"
    assert sorted(path.name for path in home.iterdir()) == sorted([ref.digest[:16], "LATEST"])
    names = [f"{kind}-{part.digest[:8]}.parquet" for kind, part in zip(KINDS, ref.parts, strict=True)]
    there = sorted(path.name for path in (home / ref.digest[:16]).iterdir())
    assert there == [names[2], "failures.parquet", *names[:2], "snapshot.json"]
    assert [part.path for part in ref.parts] == [f"questions/demo/{ref.digest[:16]}/{name}" for name in names]
    content = (home / ref.digest[:16] / "snapshot.json").read_text(encoding="utf-8")
    assert SnapshotRef.model_validate_json(content) == ref
    assert str(folder_of(store)) not in content
    assert (home / "LATEST").read_text(encoding="utf-8").strip() == ref.digest


def test_equal_rows_give_equal_bytes_wherever_and_whenever(tmp_path: Path) -> None:
    stores = [ParquetSnapshots(tmp_path / name) for name in ("here", "there")]
    assert write(stores[0], [[0], [2]]) == write(stores[1], [[0], [2]])
    assert digests(folder_of(stores[0])) == digests(folder_of(stores[1]))


@settings(max_examples=20, deadline=None)
@given(st.sets(st.integers(0, 30)), st.integers(1, 9), st.integers(1, 9))
def test_the_digest_does_not_depend_on_the_size_of_parts(
    tmp_path_factory: pytest.TempPathFactory, positions: set[int], size: int, other: int
) -> None:
    ordered = sorted(positions)
    refs: list[SnapshotRef] = []
    for step in (size, other):
        store = ParquetSnapshots(tmp_path_factory.mktemp("snapshots"))
        refs.append(write(store, [ordered[start : start + step] for start in range(0, len(ordered), step)]))
        assert list(store.read(refs[-1], "questions", record=QuestionSet)) == ordered
    assert refs[0].digest == refs[1].digest


def test_the_digest_depends_on_rows_positions_carried_rows_and_failures(store: ParquetSnapshots) -> None:
    base = write(store, [[0, 2]]).digest
    bare, failed = store.writer("questions", unit="demo"), store.writer("questions", unit="demo")
    for writer in (bare, failed):
        writer.add("questions", rows(0, 2))
    found = {write(store, [[0, 3]]).digest, write(store, [[0, 2]], text="Wie?").digest}
    found |= {bare.finish([]).digest, failed.finish([FAILURE]).digest}
    assert len(found | {base}) == 5


def test_a_snapshot_without_rows_is_a_snapshot(store: ParquetSnapshots) -> None:
    writer = store.writer("questions", unit="demo")
    writer.add("questions", [])
    ref = writer.finish([])
    assert (ref.items, ref.parts) == (0, ())
    assert store.read(ref, "questions", record=QuestionSet) == {}


def test_rows_out_of_order_are_refused(store: ParquetSnapshots) -> None:
    writer = store.writer("questions", unit="demo")
    writer.add("questions", rows(0, 3))
    for wrong in (rows(2), rows(3), rows(5, 4)):
        with pytest.raises(ValueError, match="ascending order"):
            writer.add("questions", wrong)


def test_nothing_is_visible_before_finish_and_an_abandoned_writer_leaves_nothing(store: ParquetSnapshots) -> None:
    writer = store.writer("questions", unit="demo")
    writer.add("questions", rows(0))
    home = folder_of(store) / "questions" / "demo"
    assert [path.name.startswith(".writing-") for path in home.iterdir()] == [True]
    del writer
    gc.collect()
    assert list(home.iterdir()) == []


def test_an_equal_snapshot_that_is_there_is_kept(store: ParquetSnapshots) -> None:
    first = write(store, [[0], [2]])
    before = (folder_of(store) / first.parts[0].path).stat()
    assert write(store, [[0, 2]]) == first
    assert (folder_of(store) / first.parts[0].path).stat().st_ino == before.st_ino
    assert len(list((folder_of(store) / "questions" / "demo").iterdir())) == 2


def test_making_a_snapshot_again_repairs_one_with_a_missing_file(store: ParquetSnapshots) -> None:
    ref = write(store, [[0, 2]])
    (folder_of(store) / ref.parts[0].path).unlink()
    assert write(store, [[0, 2]]) == ref
    assert set(store.read(ref, "questions", record=QuestionSet)) == {0, 2}
    assert len(list((folder_of(store) / "questions" / "demo").iterdir())) == 2


def test_latest_follows_the_snapshot_finished_last(store: ParquetSnapshots) -> None:
    first, second = write(store, [[0]]), write(store, [[0]], text="Wie?")
    pointer = folder_of(store) / "questions" / "demo" / "LATEST"
    assert pointer.read_text(encoding="utf-8").strip() == second.digest
    assert write(store, [[0]]) == first
    assert pointer.read_text(encoding="utf-8").strip() == first.digest


def test_leftovers_of_the_dead_are_cleared_and_the_living_left_alone(store: ParquetSnapshots) -> None:
    home = folder_of(store) / "questions" / "demo"
    script = """
import os, sys, signal
from pathlib import Path
from assets.engine.serialized_record import serialize_record
from assets.amemgym.records.question import QuestionSet
from pipelines.resources.storage.io_manager import AssetValueIOManager
from pipelines.resources.storage.snapshots import ParquetSnapshots
writer = ParquetSnapshots(Path(sys.argv[1])).writer("questions", unit="demo")
writer.add("questions", [(0, serialize_record(QuestionSet(user_id="u", questions=())))])
os.kill(os.getpid(), signal.SIGKILL)
"""
    command = [sys.executable, "-c", script, str(folder_of(store))]
    killed = subprocess.run(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert killed.returncode == -signal.SIGKILL
    (left,) = home.iterdir()
    pointer = left.with_name(f"{left.name}1")
    pointer.write_text("never put in place")
    elsewhere, long_gone = home / ".writing-other-host-1-ab", home / ".writing-other-host-1-cd"
    elsewhere.mkdir()
    long_gone.mkdir()
    os.utime(long_gone, (0, 0))
    alive = store.writer("questions", unit="demo")
    alive.add("questions", rows(0))
    ref = write(store, [[0, 2]])
    assert [folder.exists() for folder in (left, pointer, long_gone, elsewhere)] == [False, False, False, True]
    assert [path.name.startswith(f".writing-{HOST}-{os.getpid()}-") for path in home.glob(".writing-*")].count(True) == 1
    assert alive.finish([]).digest != ref.digest


def test_a_damaged_file_and_rows_of_another_kind_are_told_apart(store: ParquetSnapshots) -> None:
    ref = write(store, [[0]])
    with pytest.raises(SnapshotError, match=r"no valid UserProfile of this version .*; materialize 'questions' of 'demo'"):
        store.read(ref, "questions", record=UserProfile)
    (folder_of(store) / ref.parts[0].path).write_bytes(b"PAR1 no more")
    with pytest.raises(SnapshotError, match=rf"is damaged \(.*\); {CURE}"):
        store.read(ref, "questions", record=QuestionSet)


def test_a_byte_that_changed_within_a_text_is_noticed(store: ParquetSnapshots) -> None:
    ref = write(store, [[0]])
    path = folder_of(store) / ref.parts[0].path
    metadata: Any = pq.ParquetFile(path).metadata
    last = metadata.row_group(0).column(metadata.num_columns - 1)
    content = bytearray(path.read_bytes())
    content[last.data_page_offset + last.total_compressed_size - 9] ^= 1
    path.write_bytes(content)
    with pytest.raises(SnapshotError, match=rf"is damaged \(.*\); {CURE}"):
        store.read(ref, "questions", record=QuestionSet)


def test_valid_parquet_with_other_rows_is_noticed_and_made_again(store: ParquetSnapshots) -> None:
    ref = write(store, [[0, 2]])
    path = folder_of(store) / ref.parts[0].path
    table: Any = pq.read_table(path)  # pyright: ignore[reportUnknownMemberType]
    pq.write_table(table.slice(0, 1), path)  # pyright: ignore[reportUnknownMemberType]
    for positions in (None, [0]):
        with pytest.raises(SnapshotError, match=rf"does not hold the rows that were written .*; {CURE}"):
            ParquetSnapshots(store.files).read(ref, "questions", record=QuestionSet, positions=positions)
    again = ParquetSnapshots(store.files)
    assert write(again, [[0, 2]]) == ref
    assert sorted(again.read(ref, "questions", record=QuestionSet)) == [0, 2]


def test_a_value_that_was_edited_or_lost_its_digest_is_noticed(tmp_path: Path) -> None:
    manager = AssetValueIOManager(tmp_path, ParquetSnapshots(tmp_path / "snapshots"))
    recipe = ResolvedRecipe(recipe=load_recipe("demo"))
    context = dg.build_output_context(asset_key=dg.AssetKey("recipe"), partition_key="demo")  # pyright: ignore[reportUnknownMemberType]
    manager.handle_output(context, recipe)
    path = tmp_path / "recipe" / "demo.json"
    assert manager.find("recipe", "demo") == recipe
    path.write_bytes(path.read_bytes().replace(b'"seed":42', b'"seed":43'))
    edited = path.read_bytes()
    for content in (edited, f"ResolvedRecipe\n{recipe.model_dump_json()}\n".encode()):
        path.write_bytes(content)
        with pytest.raises(
            UnreadableValue,
            match=r"recipe/demo\.json has changed since it was written .*; materialize 'recipe' of 'demo' again",
        ):
            manager.find("recipe", "demo")
