"""The whole thing for real: two workers on Redis and Postgres, with everything killed that can be, make one process's bytes."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg2
import pytest

from pipelines.cluster.layout import Cluster
from pipelines.embedded.bank import model_name
from pipelines.home import Home
from tests.bench.runs import provider
from tests.support.commands import AMEMGYM, clean_environment, free_port
from tests.support.processes import children, command_of

ROOT = Path(__file__).parents[2]
IN_FLIGHT = 16
WORDS = [word for role in ("writer", "judge", "user_simulator") for word in ("--set", f"models.{role}.model={model_name()}")]
SLOW = 600.0


@dataclass(frozen=True)
class Machine:
    """Commands with a data folder, a recipe of four users in two work units, and an endpoint."""

    home: Path
    url: str

    def start(self, *words: str) -> "subprocess.Popen[bytes]":
        place = {"AMEMGYM_BASE_URL": self.url, "AMEMGYM_API_KEY": "any", "AMEMGYM_MAX_IN_FLIGHT": str(IN_FLIGHT)}
        around = clean_environment(self.home, AMEMGYM_RECIPES=str(self.home.parent / "recipes"), **place)
        return subprocess.Popen([*AMEMGYM, *words], env=around, cwd=ROOT)

    def run(self, *words: str) -> None:
        assert self.start(*words).wait(SLOW) == 0, f"{' '.join(words)} did not end well"

    def digest(self) -> str:
        return json.loads((self.home / "releases" / "crowd" / "0.1.0" / "manifest.json").read_bytes())["data_digest"]


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    # Not below pytest's own folder, which every pytest that starts closes to other users, such as Postgres's.
    place = Path(tempfile.mkdtemp(prefix="amemgym-machines-"))
    place.chmod(0o711)
    (place / "recipes").mkdir()
    demo = (ROOT / "pipelines" / "recipes" / "demo.yaml").read_text()
    crowd = demo.replace("num_users: 3", "num_users: 4\nusers_per_shard: 2").replace("num_periods: 3", "num_periods: 2")
    (place / "recipes" / "crowd.yaml").write_text(crowd)
    yield place
    shutil.rmtree(place, ignore_errors=True)


@contextmanager
def cluster_up(machine: Machine) -> "Generator[tuple[Cluster, subprocess.Popen[bytes]]]":
    port = free_port()
    process = machine.start("cluster", "up", "--workers", "2", "--port", str(port))
    try:
        yield Cluster(Home(machine.home), port=port), process
    finally:
        process.terminate()
        process.wait(60)


def paid(cluster: Cluster) -> tuple[int, int]:
    """Calls that were paid for, and how many different ones; nothing before there is a ledger."""
    try:
        with psycopg2.connect(host=str(cluster.sockets), user="postgres", dbname="amemgym") as connection:
            cursor = connection.cursor()
            query = "SELECT COUNT(*), COUNT(DISTINCT request) FROM amemgym_ledger.calls WHERE cache_hit = 0"
            cursor.execute(f"{query} AND outcome <> 'error'")
            return cursor.fetchone() or (0, 0)
    except (psycopg2.OperationalError, psycopg2.errors.UndefinedTable):
        return 0, 0


def until(done: Callable[[], bool], *, alive: "subprocess.Popen[bytes]") -> None:
    """Wait, as long as the command that is to bring it about lives."""
    give_up = time.monotonic() + SLOW
    while not done():
        assert alive.poll() is None, "the command has ended"
        assert time.monotonic() < give_up, "nothing goes on"
        time.sleep(0.2)


def child(parent: int, mark: str) -> int:
    """The child process whose command holds the mark."""
    for pid in children(parent):
        if mark in command_of(pid):
            return pid
    raise AssertionError(f"There is no {mark} among the processes.")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with provider("--latency", "0.2") as url:
        yield url


@pytest.fixture(scope="module")
def alone(place: Path, url: str) -> str:
    """The digest of what one process makes."""
    machine = Machine(place / "alone", url)
    machine.run("generate", "crowd", *WORDS)
    return machine.digest()


def test_two_workers_make_the_bytes_of_one_process_although_a_pool_process_a_worker_and_the_daemon_are_killed(
    place: Path, url: str, alone: str
) -> None:
    shared = Machine(place / "shared", url)
    with cluster_up(shared) as (cluster, supervisor):
        until((shared.home / "cluster" / "url").exists, alive=supervisor)
        asked = shared.start("cluster", "generate", "crowd", *WORDS)
        until(lambda: paid(cluster)[0] >= 40, alive=asked)
        os.kill(child(child(supervisor.pid, "worker-1@"), "worker-1@"), signal.SIGKILL)
        until(lambda: paid(cluster)[0] >= 100, alive=asked)
        for mark in ("worker-2@", "dagster._daemon"):
            os.killpg(child(supervisor.pid, mark), signal.SIGKILL)
        assert asked.wait(SLOW) == 0
        calls, different = paid(cluster)
    assert shared.digest() == alone
    # A call is noted and then kept: a kill in between may repeat what was in flight, and nothing else.
    assert calls - different <= 2 * IN_FLIGHT


def test_the_same_command_goes_on_after_both_servers_were_killed(place: Path, url: str, alone: str) -> None:
    shared = Machine(place / "killed", url)
    with cluster_up(shared) as (cluster, supervisor):
        until((shared.home / "cluster" / "url").exists, alive=supervisor)
        asked = shared.start("cluster", "generate", "crowd", *WORDS)
        for server, already_paid in (("redis-server", 40), ("postgres", 80)):
            until(lambda enough=already_paid: paid(cluster)[0] >= enough, alive=asked)
            os.kill(child(supervisor.pid, server), signal.SIGKILL)
        if asked.wait(SLOW) != 0:
            shared.run("cluster", "generate", "crowd", *WORDS)
        calls, different = paid(cluster)
    print(f"{calls} calls paid, {calls - different} of them twice; the command ended with {asked.returncode}")
    assert shared.digest() == alone
    assert calls - different <= IN_FLIGHT
