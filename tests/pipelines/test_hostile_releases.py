"""Texts that nothing may follow as a path, in every field of every benchmark's release: make test-hostile for ten thousand."""

import os
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import dagster as dg
import pytest
from pydantic import AfterValidator, BaseModel

from assets.code_qa.records.sources import CodeFile
from assets.engine.provenance import Provenance
from assets.engine.serialized_record import serialized_rows
from assets.recipe.loading import load_recipe
from assets.records.flat_tables import FlatRow
from assets.records.paths import read_file_name, read_python_path, read_relative_path
from dataset_card.release.derived import contradictions
from dataset_card.release_store.store import FolderReleaseStore
from pipelines.benchmarks import BENCHMARKS, format_of
from pipelines.errors import sentence_of, user_errors
from pipelines.evaluation.sources import open_tasks
from pipelines.export.formats import release_writer
from pipelines.home import Home
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.resources.storage.open_stores import snapshot_files
from pipelines.resources.storage.snapshots import ParquetSnapshots
from tests.support.code_questions import made_question
from tests.support.commands import amemgym_here
from tests.support.hostile_releases import (
    Mutation,
    Mutator,
    hostile_texts,
    watch_writes,
    write_code_questions,
    write_releases,
)
from tests.support.releases import read_rows, spoil_table

READERS = {read_file_name, read_python_path, read_relative_path}
MANY = int(os.environ.get("AMEMGYM_TEST_HOSTILE_RELEASES", "24"))
SEED = int(os.environ.get("AMEMGYM_TEST_HOSTILE_SEED", "1"))
EVERY = 8  # of so many releases one is given to a command, and of so many of these one to a slow one
FEW = 100  # up to which nothing is printed


@pytest.fixture(scope="module")
def questions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_code_questions(tmp_path_factory.mktemp("questions"))


@pytest.fixture(scope="module")
def originals(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return write_releases(tmp_path_factory.mktemp("releases"))


def test_no_command_follows_a_hostile_text_out_of_its_folders(
    originals: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    outside = tmp_path / "outside"
    inside = tmp_path / "inside"
    for folder in (outside, inside):
        folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(inside))
    monkeypatch.chdir(inside)
    # A fresh checkout is compiled as it is imported, which is the interpreter's own writing.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    watch = watch_writes(inside)
    mutator = Mutator(originals, copies=inside / "copies", outside=outside, seed=SEED)
    outcomes: Counter[str] = Counter()
    crashes: list[str] = []
    for number in range(MANY):
        words = _command(number)
        with mutator.mutation(number, verified="verify" in words) as mutated:
            try:
                with watch.watch():
                    outcomes[_outcome(mutated, words, inside)] += 1
            except Exception:  # noqa: BLE001 - whatever comes out of a command is told with its field
                crashes.append(f"{mutated.field}: {mutated.kind}\n{traceback.format_exc()}")
        shutil.rmtree(inside / "out", ignore_errors=True)
    with capsys.disabled():
        if MANY > FEW:
            print(f"\n{MANY:,} releases, drawn from {mutator.size:,} that differ: {dict(sorted(outcomes.items()))}")
            print(f"files outside: {len(watch.outside)}; tracebacks: {len(crashes)}")
    assert not crashes, "\n".join(crashes[:3])
    assert watch.outside == []
    assert list(outside.iterdir()) == []


def test_the_files_of_every_benchmarks_release_follow_from_its_items(originals: list[Path]) -> None:
    for folder in originals:
        assert list(contradictions(folder, form=format_of(folder))) == []


QUICK = (("evaluate", "FOLDER", "--memory", "none", "--plan"), ("export", "FOLDER", "--out", "OUT"))
SLOW = (
    ("diff", "ORIGINAL", "FOLDER"),
    ("export", "FOLDER", "--as", "verifiers", "--out", "OUT"),
    ("verify", "FOLDER"),
    ("evaluate", "FOLDER", "--memory", "none", "--quiet"),
)


def _command(number: int) -> tuple[str, ...]:
    """Return the command that the release of this number is given to; most are only read and written, as `export` does."""
    turn, rest = divmod(number, EVERY)
    if rest:
        return ()
    return SLOW[turn // EVERY % len(SLOW)] if turn % EVERY == 1 else QUICK[turn % len(QUICK)]


def _outcome(mutated: Mutation, words: tuple[str, ...], inside: Path) -> str:
    """Say what became of a release. Raises what a command would end in a traceback with."""
    folder, out = str(mutated.folder), inside / "out"
    if words:
        places = {"FOLDER": folder, "ORIGINAL": str(mutated.original), "OUT": str(out)}
        status, output = amemgym_here(inside / "home", *(places.get(word, word) for word in words))
        assert "Traceback" not in output
        return f"{words[0]}: {'refused' if status else 'taken'}"
    try:
        tasks = open_tasks(folder, release_store=FolderReleaseStore(inside))
        release_writer("traces")(tasks, out)
    except user_errors() as error:
        return f"reading: refused{'' if sentence_of(error) else ' without a word'}"
    return "reading: taken"


KINDS = ("above", "far above", "absolute", "device of Windows", "NUL", "long", "backslash")
COMMANDS = ("verify", "evaluate", "show", "export", "diff")
# One command is given each kind, and one kind is given to each command; `make test-hostile` gives each to each.
PLANTED = [(command, kind) for command in COMMANDS for kind in KINDS if MANY > FEW or command == "evaluate" or kind == "above"]


@pytest.mark.parametrize(("command", "kind"), PLANTED)
def test_a_planted_path_is_refused_by_every_command_in_one_sentence(
    questions: Path, tmp_path: Path, command: str, kind: str
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    text = hostile_texts(outside)[kind]
    folder = shutil.copytree(questions, tmp_path / "planted")
    table = f"{questions.parent.name}/test-00000-of-00001.parquet"
    (row,) = read_rows(folder / table)
    row["files"].append({**row["files"][0], "path": text})
    spoil_table(folder, table, [row])
    out = str(tmp_path / "out")
    if command == "show":
        _plant_in_snapshots(tmp_path / "home", text)
    words = {
        "verify": ("verify", str(folder)),
        "evaluate": ("evaluate", str(folder), "--memory", "none"),
        "show": ("show", "1", "--variant", "code-demo"),
        "export": ("export", str(folder), "--as", "traces", "--out", out),
        "diff": ("diff", str(questions), str(folder)),
    }
    status, output = amemgym_here(tmp_path / "home", *words[command])
    assert status == 1
    with pytest.raises(ValueError, match=r"^'.*(lie inside|longer|characters that no|device)") as refused:
        read_relative_path(text)
    assert str(refused.value) in output
    assert len([line for line in output.splitlines() if line.startswith("amemgym: ")]) == 1
    assert list(outside.iterdir()) == []


def _plant_in_snapshots(home: Path, text: str) -> None:
    """Make the latest snapshot of a variant hold a code question with one more file of this path."""
    task = made_question().instance
    planted = task.files[0].model_copy(update={"path": text})
    place = Home(home, "")
    writer = ParquetSnapshots(snapshot_files(place)).writer("code_instances", unit="code-demo")
    writer.add("code_instances", serialized_rows([(0, task.model_copy(update={"files": (*task.files, planted)}))]))
    value = Provenance(recipe=load_recipe("code-demo"), snapshots={"code-demo": {"code_instances": writer.finish([])}})
    context = dg.build_output_context(asset_key=dg.AssetKey("code_instances"), partition_key="code-demo")  # pyright: ignore[reportUnknownMemberType]
    open_asset_values(place).handle_output(context, value)


def test_a_field_is_a_path_where_it_is_called_so_and_is_read_as_one() -> None:
    """Verifying reads paths by the name of their column."""
    records: list[type[BaseModel]] = []
    for entry in BENCHMARKS.values():
        records += [entry.benchmark.final.record, *(table.row for table in entry.benchmark.tables.values())]
    seen: set[type[BaseModel]] = set()
    while records:
        record = records.pop()
        seen.add(record)
        if issubclass(record, FlatRow):  # its values are those of the item's records, which read them
            continue
        for name, field in record.model_fields.items():
            readers = {item.func for item in field.metadata if isinstance(item, AfterValidator)}
            assert bool(readers & READERS) == (name == "path"), f"{record.__name__}.{name}"
            records += set(_records_in(field.annotation)) - seen
    assert CodeFile in seen


def _records_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _records_in(argument)
