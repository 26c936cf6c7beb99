"""The whole thing for real: two workers on Redis and Postgres, with everything killed that can be, make one process's bytes."""

import json
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg2
import pytest

from pipelines.embedded.bank import model_name
from tests.bench.runs import provider
from tests.cluster.servers import ROOT, Cluster
from tests.support.commands import amemgym
from tests.support.processes import children

IN_FLIGHT = 16
ROLES = ("writer", "judge", "user_simulator")
UNITS = ("crowd-0000", "crowd-0001")
SLOW = 600.0
NOT_AGAIN = 30.0  # seconds after which the daemon has not begun a failed run again


@pytest.fixture(scope="module")
def recipes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A variant of four users in two work units."""
    folder = tmp_path_factory.mktemp("recipes")
    models = "".join(f"  {role}: {{model: {model_name()}}}\n" for role in ROLES)
    demo = (ROOT / "pipelines" / "recipes" / "demo.yaml").read_text()
    crowd = demo.replace("num_users: 3", "num_users: 4\nusers_per_shard: 2").replace("num_periods: 3", "num_periods: 2")
    assert "models:" not in demo
    (folder / "crowd.yaml").write_text(f"{crowd}\nmodels:\n{models}")
    for path in (folder, folder.parent, folder.parent.parent):
        path.chmod(0o711)
    return folder


@pytest.fixture(scope="module")
def around(recipes: Path) -> Iterator[dict[str, str]]:
    """The endpoint and the recipes, the same for all."""
    with provider("--latency", "0.2") as url:
        yield {
            "AMEMGYM_BASE_URL": url,
            "AMEMGYM_API_KEY": "any",
            "AMEMGYM_MAX_IN_FLIGHT": str(IN_FLIGHT),
            "AMEMGYM_RECIPES": str(recipes),
        }


def digest(home: Path) -> str:
    return json.loads((home / "releases" / "crowd" / "0.1.0" / "manifest.json").read_bytes())["data_digest"]


@pytest.fixture(scope="module")
def alone(around: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The digest of what one process makes."""
    home = tmp_path_factory.mktemp("alone")
    process = amemgym(home, "generate", "crowd", **around)
    output, _ = process.communicate(timeout=SLOW)
    assert process.returncode == 0, output
    return digest(home)


@contextmanager
def cluster_of(around: dict[str, str]) -> Generator[Cluster]:
    # Not below pytest's own folder, which every pytest that starts closes to other users, such as Postgres's.
    place = Path(tempfile.mkdtemp(prefix="amemgym-cluster-"))
    cluster = Cluster(place, around=around)
    try:
        cluster.start_servers()
        cluster.start_worker(1)
        cluster.start_worker(2)
        cluster.start_daemon()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(place, ignore_errors=True)


def paid(cluster: Cluster) -> tuple[int, int]:
    """Calls that were paid for, and how many different ones; nothing before there is a ledger."""
    try:
        with closing(cluster.connect("amemgym")) as connection, connection.cursor() as cursor:
            query = "SELECT COUNT(*), COUNT(DISTINCT request) FROM amemgym_ledger.calls WHERE cache_hit = 0"
            cursor.execute(f"{query} AND outcome <> 'error'")
            return cursor.fetchone() or (0, 0)
    except (psycopg2.OperationalError, psycopg2.errors.UndefinedTable):
        return 0, 0


def until(done: Callable[[], bool]) -> None:
    give_up = time.monotonic() + SLOW
    while not done():
        assert time.monotonic() < give_up, "nothing goes on"
        time.sleep(0.2)


def make(cluster: Cluster, job: str, partition: str) -> None:
    """Launch, and launch again what failed and is not begun again by the daemon, as the page says."""
    cluster.launch(job, partition)
    wait_for(cluster, job, partition)


def wait_for(cluster: Cluster, job: str, partition: str) -> None:
    failed_at: float | None = None
    give_up = time.monotonic() + SLOW
    while "SUCCESS" not in (states := cluster.states(partition, job=job)):
        assert time.monotonic() < give_up, f"{job} of {partition}: {states}"
        if states[:1] != ["FAILURE"]:
            failed_at = None
        elif failed_at is None:
            failed_at = time.monotonic()
        elif time.monotonic() > failed_at + NOT_AGAIN:
            cluster.launch(job, partition)
            failed_at = None
        time.sleep(0.5)


def test_two_workers_make_the_bytes_of_one_process_although_a_pool_process_a_worker_and_the_daemon_are_killed(
    around: dict[str, str], alone: str
) -> None:
    with cluster_of(around) as cluster:
        make(cluster, "resolve_recipe", "crowd")
        for unit in UNITS:
            cluster.launch("generate_unit", unit)
        until(lambda: paid(cluster)[0] >= 40)
        os.kill(children(cluster.processes["worker-1"].pid)[0], signal.SIGKILL)
        until(lambda: paid(cluster)[0] >= 100)
        cluster.kill("worker-2")
        cluster.kill("daemon")
        cluster.start_worker(2)
        cluster.start_daemon()
        for unit in UNITS:
            wait_for(cluster, "generate_unit", unit)
        calls, different = paid(cluster)
        make(cluster, "make_release", "crowd")
        assert digest(cluster.home) == alone
    # A call is noted and then kept: a kill in between may repeat what was in flight, and nothing else.
    assert calls - different <= 2 * IN_FLIGHT


def test_runs_go_on_after_both_servers_were_killed(around: dict[str, str], alone: str) -> None:
    with cluster_of(around) as cluster:
        make(cluster, "resolve_recipe", "crowd")
        for unit in UNITS:
            cluster.launch("generate_unit", unit)
        until(lambda: paid(cluster)[0] >= 40)
        cluster.kill("redis")
        cluster.start_redis()
        until(lambda: paid(cluster)[0] >= 80)
        cluster.kill("postgres")
        cluster.start_postgres()
        for unit in UNITS:
            wait_for(cluster, "generate_unit", unit)
        calls, different = paid(cluster)
        make(cluster, "make_release", "crowd")
        assert digest(cluster.home) == alone
    assert calls - different <= IN_FLIGHT
