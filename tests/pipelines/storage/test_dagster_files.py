"""The event log and the runs that the command line writes are Dagster's own."""

import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import dagster as dg
import pytest

from pipelines.automation import killed_commands
from pipelines.cli.dagster_runs import dagster_instance
from pipelines.definitions import defs
from pipelines.home import Home
from pipelines.opening.doctor import examine

# A command that is killed in the middle of its run.
KILLED = """
import os, signal
from pipelines.cli.dagster_runs import dagster_instance
from pipelines.definitions import defs
instance = dagster_instance()
run = instance.create_run_for_job(defs.resolve_job_def("publish"))
os.write(1, run.run_id.encode())
os.kill(os.getpid(), signal.SIGKILL)
"""
EVENT = dg.AssetMaterialization("users")


def events_in(file: Path) -> int:
    """Return the number of events that another reader finds in the file."""
    with closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as connection:
        return connection.execute("SELECT COUNT(*) FROM event_logs").fetchone()[0]


def test_each_event_can_be_read_at_once_and_touches_the_file_that_the_page_of_a_run_watches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_HOME", "")  # so that what the command sets is undone after the test
    folder = tmp_path / "dagster"
    log = folder / "history" / "runs"
    file = log / ".db"  # that of events outside of runs
    with dagster_instance() as instance:
        for count in (1, 2):
            instance.report_runless_asset_event(EVENT)
            assert events_in(file) == count
            assert file.stat().st_mtime > 0
            os.utime(file, (0, 0))
    assert not list(log.glob("*-wal"))
    with dg.DagsterInstance.from_config(str(folder)) as instance:
        assert len(instance.fetch_materializations(dg.AssetKey("users"), limit=9).records) == 2


def test_a_run_of_the_command_line_is_of_this_project_so_that_the_timeline_of_the_ui_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_HOME", "")
    job = defs.resolve_job_def("publish")
    with dagster_instance() as instance:
        run = instance.create_run_for_job(job)
    with dg.DagsterInstance.from_config(str(tmp_path / "dagster")) as instance:
        found = instance.get_run_by_id(run.run_id)
    assert found is not None
    assert found.remote_job_origin is not None
    assert found.remote_job_origin.repository_origin.get_label() == "__repository__@amemgym"


def test_the_run_of_a_killed_command_is_named_and_cancelled_and_one_that_goes_on_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    monkeypatch.setenv("DAGSTER_HOME", "")
    with dagster_instance() as instance:
        goes_on = instance.create_run_for_job(defs.resolve_job_def("publish"))
        killed = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, check=False).stdout
        (finding,) = examine(Home(tmp_path))
        assert finding.where == f"{tmp_path / 'dagster'}, run {killed[:8]}"
        tick = killed_commands(dg.build_sensor_context(instance=instance))
        assert isinstance(tick, dg.SkipReason)
        assert tick.skip_message == f"Run {killed[:8]} (publish) was cancelled, because the command that made it was killed."
        states = {run.run_id: run.status for run in instance.get_runs()}
        assert states == {goes_on.run_id: dg.DagsterRunStatus.NOT_STARTED, killed: dg.DagsterRunStatus.CANCELED}
        assert examine(Home(tmp_path)) == []
