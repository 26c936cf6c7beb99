"""A real `amemgym evaluate` killed in the middle: the same command goes on, pays for nothing twice, and ends the same."""

import sqlite3
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from pathlib import Path

from starlette.types import ASGIApp, Receive, Scope, Send
from typer.testing import CliRunner

from dataset_card.amemgym.reference.data_json import data_json
from pipelines.cli.main import app
from pipelines.embedded.bank import model_name
from pipelines.evaluation.folder import LATENCY
from tests.evaluation.scripted_evaluation import episode
from tests.pipelines.chained import IN_FLIGHT, endpoint
from tests.support.commands import amemgym, kill, own_surroundings
from tests.support.waiting import LONG, until

SERVED = ("--model", model_name(), "--set", f"embedding_model={model_name()}")
USERS = ("ada", "ben")
WAITS = "is being run by another process; waiting for it."
KEPT = "SELECT count(*) FROM replies"
CALLS_MADE_TWICE = "SELECT count(*) - count(DISTINCT request) FROM calls WHERE cache_hit = 0"


def finished(home: Path, words: tuple[str, ...], surroundings: dict[str, str]) -> dict[str, bytes]:
    """Run it to its end, in this process; the run's files, without that of the latency."""
    with own_surroundings(home, **surroundings):
        CliRunner().invoke(app, words, catch_exceptions=False)
    [folder] = (home / "runs").glob("data.json-*")
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != LATENCY}


def asked(store: Path, sql: str) -> int:
    """A number from a store, 0 while it is not there yet."""
    try:
        with closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as connection:
            return int(connection.execute(sql).fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def answering_when(met: threading.Event, app: ASGIApp) -> ASGIApp:
    """The app, which answers no chat before that. Texts are embedded: an embedding model is tried before a run has a folder."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].endswith("/chat/completions"):
            await until(met.is_set, seconds=5 * LONG)
        await app(scope, receive, send)

    return answer


def printed_by(process: subprocess.Popen[str], *, met: threading.Event) -> str:
    """All that the process prints; `met` is set when it waits for another one, or ends."""
    lines = list[str]()
    for line in process.stdout or ():
        lines.append(line)
        if WAITS in line:
            met.set()
    met.set()
    return "".join(lines)


def test_a_killed_evaluation_goes_on_and_a_replay_needs_no_model(tmp_path: Path) -> None:
    data, home = tmp_path / "data.json", tmp_path / "killed"
    data.write_bytes(data_json([episode(name) for name in USERS]))
    with endpoint() as there:
        words = ("evaluate", str(data), "--memory", "awe-2-0-30", *SERVED)
        whole = finished(tmp_path / "whole", words, there.surroundings)

        there.app.enough = lambda: asked(home / "calls.sqlite", KEPT) >= 30
        kill(amemgym(home, *words, **there.surroundings), when=there.app.enough)
        there.app.enough = lambda: False
        assert not list((home / "runs").glob("*/results.json"))

        assert finished(home, words, there.surroundings) == whole
        # Chats and embeddings are asked beside each other, so many of each at once.
        assert asked(home / "ledger.sqlite", CALLS_MADE_TWICE) <= 2 * IN_FLIGHT

        for folder in (home / "runs").glob("data.json-*"):
            folder.rename(tmp_path / "moved")
        assert finished(home, (*words, "--offline"), there.surroundings) == whole


def test_equal_evaluations_at_once_come_to_one_run_and_the_same_figures(tmp_path: Path) -> None:
    data, home = tmp_path / "data.json", tmp_path / "home"
    data.write_bytes(data_json([episode(name) for name in USERS[:1]]))
    with endpoint() as there, ThreadPoolExecutor(2) as readers:
        met = threading.Event()
        there.app.app = answering_when(met, there.app.app)
        words = ("evaluate", str(data), "--memory", "awe-2-0-30", *SERVED, "--json")
        processes = [amemgym(home, *words, **there.surroundings) for _ in range(2)]
        printed = list(readers.map(partial(printed_by, met=met), processes))
        ended = [process.wait() for process in processes]

    assert ended == [0, 0], printed
    shown = [output[output.index("{") :] for output in printed]
    assert shown[0] == shown[1]
    assert sum(WAITS in output for output in printed) == 1
    [folder] = (home / "runs").glob("data.json-*")
    assert not list(folder.glob("steps.sqlite*"))
