"""Commands that ask a model, stopped from outside: one sentence, and every reply that was on its way is kept."""

import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from assets.stop_signals import INTERRUPTED
from dataset_card.amemgym.reference.data_json import data_json
from pipelines.cli import STOPPED
from pipelines.embedded.bank import model_name
from tests.evaluation.scripted_evaluation import episode
from tests.pipelines.chained import endpoint
from tests.support.cells import cells
from tests.support.commands import amemgym, finish
from tests.support.waiting import LONG, wait_until

USERS = ("ada", "ben", "cleo", "dan", "eve", "fay")
BEFORE_THE_STOP = 12
COMMANDS = {
    "evaluate": (
        "evaluate",
        "DATA",
        "--memory",
        "awe-2-0-30",
        "--set",
        f"embedding_model={model_name()}",
        "--model",
        model_name(),
    ),
    "evolve": ("evolve", "DATA", "--cycles", "2", "--cycle", "episode", "--model", model_name()),
    "quality": ("quality", "DATA", "--gates", "--model", model_name()),
    "generate": ("generate", "demo", "--model", model_name()),
}


def kept(home: Path) -> int:
    with closing(sqlite3.connect(home / "calls.sqlite")) as connection:
        return int(connection.execute("SELECT count(*) FROM replies").fetchone()[0])


@pytest.mark.parametrize("command", cells(["evaluate", "generate"], list(COMMANDS)))
def test_sigterm_ends_a_command_with_one_sentence_and_keeps_the_replies_under_way(tmp_path: Path, command: str) -> None:
    data, home = tmp_path / "data.json", tmp_path / "home"
    data.write_bytes(data_json([episode(name) for name in USERS]))
    words = [str(data) if word == "DATA" else word for word in COMMANDS[command]]
    with endpoint(latency=0.5) as there:
        process = amemgym(home, *words, **there.surroundings)
        wait_until(lambda: process.poll() is not None or len(there.app.answered) >= BEFORE_THE_STOP, seconds=5 * LONG)
        process.send_signal(signal.SIGTERM)
        status, output = finish(process)

    assert "Traceback" not in output
    assert output.rstrip().endswith(STOPPED)
    assert status == INTERRUPTED
    assert kept(home) == len(there.app.answered)
