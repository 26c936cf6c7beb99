"""A real `amemgym evolve` killed after a policy has changed: the same command goes on with that policy and ends the same."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dataset_card.reference import data_json
from pipelines.cli.main import app
from tests.evaluation.rehearsal import episode
from tests.evaluation.test_killing import asked

IN_FLIGHT = 4
USERS = ("ada", "ben", "cleo")
WORDS = ("--feedback", "complete")
POLICIES = "SELECT count(*) FROM steps WHERE key LIKE '%/policy'"
CALLS_MADE_TWICE = "SELECT count(*) - count(DISTINCT request) FROM calls WHERE cache_hit = 0"


def started(home: Path, data: Path) -> subprocess.Popen[str]:
    """The command on the embedded model in a process of its own, with a data folder of its own."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith(("OPENAI_", "AMEMGYM_"))}
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli.main", "evolve", str(data), *WORDS],
        env={**clean, "AMEMGYM_HOME": str(home), "AMEMGYM_MAX_IN_FLIGHT": str(IN_FLIGHT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finished(home: Path, data: Path, *words: str) -> dict[str, bytes]:
    """Run it to its end, in this process; the evolution's files."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("OPENAI_", "AMEMGYM_"))]:
            patch.delenv(name)
        patch.setenv("AMEMGYM_HOME", str(home))
        patch.setenv("AMEMGYM_MAX_IN_FLIGHT", str(IN_FLIGHT))
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

    process = started(home, data)
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
