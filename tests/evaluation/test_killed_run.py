"""A real `amemgym evaluate` killed in the middle: the same command goes on, pays for nothing twice, and ends the same."""

import os
import signal
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from typer.testing import CliRunner

from dataset_card.reference.data_json import data_json
from pipelines.cli.main import app
from pipelines.evaluation.folder import LATENCY
from tests.evaluation.scripted_evaluation import episode
from tests.support.commands import amemgym, own_surroundings

ASSISTANT, IN_FLIGHT = "awe-2-0-30", 4
LIMITED = {"AMEMGYM_MAX_IN_FLIGHT": str(IN_FLIGHT)}
USERS = ("ada", "ben", "cleo", "dan", "eve", "fay")


def finished(home: Path, data: Path, *words: str) -> dict[str, bytes]:
    """Run it to its end, in this process; the run's files, without that of the latency."""
    with own_surroundings(home, **LIMITED):
        CliRunner().invoke(app, ["evaluate", str(data), "--memory", ASSISTANT, *words], catch_exceptions=False)
    [folder] = (home / "runs").iterdir()
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != LATENCY}


def asked(store: Path, sql: str) -> int:
    """A number from a store, 0 while it is not there yet."""
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
            return int(connection.execute(sql).fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def test_a_killed_evaluation_goes_on_and_a_replay_needs_no_model(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_bytes(data_json([episode(name) for name in USERS]))
    whole, home = finished(tmp_path / "whole", data), tmp_path / "killed"

    process = amemgym(home, "evaluate", str(data), "--memory", ASSISTANT, **LIMITED)
    while asked(home / "calls.sqlite", "SELECT count(*) FROM replies") < 60:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not list((home / "runs").glob("*/results.json"))

    assert finished(home, data) == whole
    twice = asked(home / "ledger.sqlite", "SELECT count(*) - count(DISTINCT request) FROM calls WHERE cache_hit = 0")
    assert twice <= IN_FLIGHT

    for folder in (home / "runs").iterdir():
        folder.rename(tmp_path / "moved")
    assert finished(home, data, "--offline") == whole
