"""The event log that runs of the command line write is Dagster's own, event by event."""

import sqlite3
from contextlib import closing
from pathlib import Path

import dagster as dg
import pytest

from pipelines.cli.generate import dagster_instance

EVENT = dg.AssetMaterialization("users")


def events_in(file: Path) -> int:
    """Return the number of events in the file itself, without a log beside it."""
    with closing(sqlite3.connect(f"{file.as_uri()}?immutable=1", uri=True)) as connection:
        return connection.execute("SELECT COUNT(*) FROM event_logs").fetchone()[0]


def test_each_event_is_at_once_in_the_file_that_the_page_of_a_run_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_HOME", "")  # so that what the command sets is undone after the test
    folder = tmp_path / "dagster"
    log = folder / "history" / "runs"
    with dagster_instance() as instance:
        for count in (1, 2):
            instance.report_runless_asset_event(EVENT)
            assert events_in(log / ".db") == count  # that of events outside of runs
    assert not list(log.glob("*-wal"))
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        assert len(instance.fetch_materializations(dg.AssetKey("users"), limit=9).records) == 2
