"""Views over the latest snapshots, and a database file of them."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from assets.engine.serialized_record import serialized_rows
from pipelines.resources.storage.explorer import views, write_explorer
from pipelines.resources.storage.snapshots import ParquetSnapshots
from tests.pipelines.storage.snapshot_rows import profile, write


@pytest.fixture
def store(tmp_path: Path) -> ParquetSnapshots:
    return ParquetSnapshots(tmp_path / "snapshots")


def select(connection: duckdb.DuckDBPyConnection, sql: str) -> list[Any]:
    return connection.execute(sql).fetchall()


def test_views_unite_the_latest_snapshots_of_all_units(tmp_path: Path) -> None:
    store = ParquetSnapshots(tmp_path / "it's [here]*")
    write(store, [[0], [2]], text="old")
    write(store, [[0], [2]], text="new")
    write(store, [[7]], unit="large-0001")
    profiles = store.writer("user_profiles", unit="demo")
    profiles.add("user_profiles", serialized_rows([(0, profile(0)), (4, profile(4))]))
    profiles.finish([])
    with duckdb.connect() as connection:
        assert views(store.files, connection=connection) == ["failures", "questions", "user_profiles"]
        assert select(connection, "SELECT unit, position, questions[1].text FROM questions ORDER BY ALL") == [
            ("demo", 0, "new"),
            ("demo", 2, "new"),
            ("large-0001", 7, "Was nun?"),
        ]
        carried = select(connection, "SELECT unit, position, user_id FROM user_profiles ORDER BY ALL")
        assert carried == [("demo", 0, "u0"), ("demo", 4, "u4"), ("large-0001", 4, "u4")]
        failed = select(connection, "SELECT unit, item_id, message FROM failures ORDER BY ALL")
        assert failed == [("demo", "u1", "Nein."), ("large-0001", "u1", "Nein.")]


def test_an_explorer_file_opens_anywhere_on_this_machine(store: ParquetSnapshots, tmp_path: Path) -> None:
    path = tmp_path / "explore" / "explorer.duckdb"
    assert write_explorer(store.files, path) == []
    write(store, [[0, 2]])
    assert write_explorer(store.files, path) == ["failures", "questions", "user_profiles"]
    script = f"import duckdb; print(duckdb.connect({str(path)!r}).execute('SELECT count(*) FROM questions').fetchone()[0])"
    found = subprocess.run([sys.executable, "-c", script], cwd="/", capture_output=True, text=True, check=True)
    assert json.loads(found.stdout) == 2
    assert [item.name for item in path.parent.iterdir()] == [path.name]
