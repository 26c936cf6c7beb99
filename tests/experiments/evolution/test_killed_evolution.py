"""A real `amemgym evolve` killed after a policy has changed: the same command goes on with that policy and ends the same."""

import os
import signal
import time
from pathlib import Path

from typer.testing import CliRunner

from dataset_card.reference.data_json import data_json
from pipelines.cli.main import app
from tests.evaluation.scripted_evaluation import episode
from tests.evaluation.test_killed_run import IN_FLIGHT, LIMITED, asked
from tests.support.commands import amemgym, own_surroundings

USERS = ("ada", "ben", "cleo")
WORDS = ("--feedback", "complete")
POLICIES = "SELECT count(*) FROM steps WHERE key LIKE '%/policy'"
CALLS_MADE_TWICE = "SELECT count(*) - count(DISTINCT request) FROM calls WHERE cache_hit = 0"


def finished(home: Path, data: Path, *words: str) -> dict[str, bytes]:
    """Run it to its end, in this process; the evolution's files."""
    with own_surroundings(home, **LIMITED):
        CliRunner().invoke(app, ["evolve", str(data), *WORDS, *words], catch_exceptions=False)
    [folder] = (home / "evolutions").iterdir()
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def policies(home: Path) -> int:
    """How many policies have been made and kept so far."""
    return sum(asked(store, POLICIES) for store in (home / "evolutions").glob("*/steps.sqlite"))


def test_a_killed_evolution_goes_on_with_its_policies_and_a_replay_needs_no_model(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_bytes(data_json([episode(name) for name in USERS]))
    whole, home = finished(tmp_path / "whole", data), tmp_path / "killed"

    process = amemgym(home, "evolve", str(data), *WORDS, **LIMITED)
    while policies(home) < 2:
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not list((home / "evolutions").glob("*/results.json"))

    assert finished(home, data) == whole
    assert asked(home / "ledger.sqlite", CALLS_MADE_TWICE) <= IN_FLIGHT

    for folder in (home / "evolutions").iterdir():
        folder.rename(tmp_path / "kept")
    assert finished(home, data, "--offline") == whole
