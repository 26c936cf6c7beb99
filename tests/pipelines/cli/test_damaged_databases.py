"""A database that was cut off, emptied or replaced is named by the doctor and by the commands that need it."""

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import dagster as dg
import pytest

from pipelines.cli.dagster_runs import dagster_instance
from pipelines.home import Home
from pipelines.opening.doctor import examine
from pipelines.resources.storage.database import KeyValueTable
from pipelines.resources.storage.sqlite import SqliteFile
from tests.support.commands import amemgym_here
from tests.support.disks import full_disk


def cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def overwritten(path: Path) -> None:
    path.write_bytes(b"no database " * 1000)


def a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


DAMAGES = [cut_off, emptied, overwritten, a_folder]
FILES = ["calls.sqlite", "work.sqlite", "ledger.sqlite", "dagster/history/runs.db", "dagster/history/runs/index.db"]


@pytest.mark.parametrize("damage", DAMAGES)
def test_the_doctor_names_each_damaged_database_and_sets_it_aside(demo_home: Path, damage: Callable[[Path], None]) -> None:
    for name in FILES:
        for neighbour in ("-wal", "-shm"):
            (demo_home / f"{name}{neighbour}").unlink(missing_ok=True)
        damage(demo_home / name)
    found = examine(Home(demo_home))
    for name in FILES:
        assert [one for one in found if one.where == str(demo_home / name)], name
    for one in found:
        assert one.repair is not None
        one.repair()
    assert examine(Home(demo_home)) == []


def test_on_a_full_disk_the_doctor_takes_no_whole_database_for_a_damaged_one(tmp_path: Path) -> None:
    SqliteFile(tmp_path / "calls.sqlite").connect([KeyValueTable("kept")]).close()
    with full_disk():
        found = examine(Home(tmp_path))
    assert found == []


@pytest.mark.parametrize(("name", "damage"), [("calls.sqlite", emptied), ("dagster/history/runs.db", cut_off)])
def test_generate_ends_with_one_sentence_that_names_the_file(
    demo_home: Path, name: str, damage: Callable[[Path], None]
) -> None:
    for neighbour in ("-wal", "-shm"):
        (demo_home / f"{name}{neighbour}").unlink(missing_ok=True)
    damage(demo_home / name)
    status, output = amemgym_here(demo_home, "generate", "demo", "--quiet", "--set", "seed=5")
    assert status == 1
    assert name in output
    assert "amemgym doctor --repair" in output
    assert "defect of this program" not in output


def input_tokens(output: str) -> int:
    content: dict[str, list[dict[str, int]] | str] = json.loads(output[output.index("{") : output.rindex("}") + 1])
    return sum(line["input_tokens"] for lines in content.values() if isinstance(lines, list) for line in lines)


def test_a_damaged_row_of_the_ledger_is_in_no_sum(demo_home: Path) -> None:
    _, before = amemgym_here(demo_home, "ledger", "--json")
    with closing(sqlite3.connect(demo_home / "ledger.sqlite")) as ledger, ledger:
        ledger.execute("UPDATE calls SET input_tokens = input_tokens + 1000000 WHERE rowid = 1")
    status, after = amemgym_here(demo_home, "ledger", "--json")
    assert status == 0
    assert 0 < input_tokens(after) <= input_tokens(before)


def test_dagsters_files_stand_in_a_home_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "a?b %20#c 'd'"
    monkeypatch.setenv("AMEMGYM_HOME", str(home))
    monkeypatch.setenv("DAGSTER_HOME", "")  # so that what the command sets is undone after the test
    with dagster_instance() as instance:
        assert isinstance(instance, dg.DagsterInstance)
        assert instance.get_runs_count() == 0
    assert (home / "dagster" / "history" / "runs.db").stat().st_size > 0
    assert [path.name for path in tmp_path.iterdir()] == [home.name]
