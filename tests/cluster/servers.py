"""The processes of a cluster on this machine, each started as its page says: Postgres, Redis, workers and the daemon."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg2
import redis

from tests.support.commands import clean_environment

ROOT = Path(__file__).parents[2]
FILES = ROOT / "pipelines" / "cluster"
START_SECONDS = 60.0  # a Postgres that was killed reads its log first
STOP_SECONDS = 10.0
# Postgres refuses to run as root.
USER = "postgres" if os.getuid() == 0 else None


def program(name: str) -> str:
    # Debian keeps the servers of PostgreSQL out of PATH, a folder for each version.
    found = shutil.which(name) or shutil.which(name, path=str(max(Path("/usr/lib/postgresql").glob("*/bin"))))
    assert found, f"There is no {name}."
    return found


@dataclass
class Cluster:
    """The processes of one folder. Sockets stand for ports, so that nobody else has them."""

    folder: Path
    around: Mapping[str, str] = field(default_factory=dict[str, str])
    processes: "dict[str, subprocess.Popen[bytes]]" = field(default_factory=dict[str, "subprocess.Popen[bytes]"])

    @property
    def home(self) -> Path:
        return self.folder / "data"

    @property
    def database(self) -> str:
        return f"postgresql+psycopg2://postgres@/amemgym?host={self.folder}"

    @property
    def broker(self) -> str:
        return f"redis+socket://{self.folder}/redis.sock"

    def environment(self) -> dict[str, str]:
        """The variables that every process of a cluster shares."""
        own = {
            "AMEMGYM_DATABASE": self.database,
            "AMEMGYM_BROKER": self.broker,
            "AMEMGYM_RUNS_AT_ONCE": "2",
            "DAGSTER_HOME": str(self.folder / "dagster"),
        }
        return clean_environment(self.home, **own, **self.around)

    def start_servers(self) -> None:
        (self.folder / "dagster").mkdir(exist_ok=True)
        shutil.copy(FILES / "dagster.yaml", self.folder / "dagster")
        self.folder.chmod(0o711)
        database = self.folder / "postgres"
        database.mkdir()
        if USER:
            shutil.chown(self.folder, USER)
            shutil.chown(database, USER)
        initdb = [program("initdb"), "-D", str(database), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale"]
        subprocess.run(initdb, user=USER, cwd="/", check=True, stdout=subprocess.DEVNULL)
        self.start_postgres()
        with closing(self.connect("postgres")) as connection, connection.cursor() as cursor:
            cursor.execute("CREATE DATABASE amemgym")
        self.start_redis()

    def start_postgres(self) -> None:
        options = ["-D", f"{self.folder}/postgres", "-k", str(self.folder)]
        options += ["-c", "listen_addresses=", "-c", "max_connections=300"]
        self._start("postgres", program("postgres"), *options, user=USER)
        self._wait_until(self._postgres_ready)

    def start_redis(self) -> None:
        socket = f"{self.folder}/redis.sock"
        self._start(
            "redis", program("redis-server"), *f"--port 0 --unixsocket {socket} --dir {self.folder} --appendonly yes".split()
        )
        client: Any = redis.Redis(unix_socket_path=socket)
        self._wait_until(lambda: _answers(client))

    def start_worker(self, number: int) -> None:
        """Start a worker of one pool process."""
        words = f"-A pipelines.cluster.worker worker -Q dagster -c 1 -n worker-{number}@%h".split()
        self._start(f"worker-{number}", sys.executable, "-m", "celery", *words)

    def start_daemon(self) -> None:
        self._start("daemon", sys.executable, "-m", "dagster._daemon", "run", "-w", str(FILES / "workspace.yaml"))

    def launch(self, job: str, partition: str) -> None:
        """Ask for a run, as the page says."""
        tags = f'{{"dagster/partition": "{partition}"}}'
        command = [sys.executable, "-m", "dagster", "job", "launch", "-w", str(FILES / "workspace.yaml"), "-j", job]
        asked = subprocess.run(
            [*command, "--tags", tags], cwd=ROOT, env=self.environment(), capture_output=True, text=True, check=False
        )
        assert asked.returncode == 0, asked.stderr

    def states(self, partition: str, *, job: str) -> list[str]:
        """Return the states of a job's runs of a partition, the newest first; none while the database is away."""
        query = "SELECT status FROM runs WHERE partition = %s AND pipeline_name = %s ORDER BY id DESC"
        try:
            with closing(self.connect("amemgym")) as connection, connection.cursor() as cursor:
                cursor.execute(query, (partition, job))
                return [str(status) for (status,) in cursor.fetchall()]
        except (psycopg2.OperationalError, psycopg2.errors.UndefinedTable):
            return []

    def connect(self, name: str) -> "psycopg2.extensions.connection":
        connection = psycopg2.connect(host=str(self.folder), user="postgres", dbname=name)
        connection.autocommit = True
        return connection

    def kill(self, name: str) -> None:
        """End a process and all that it started, without a word."""
        os.killpg(self.processes[name].pid, signal.SIGKILL)
        self.processes[name].wait()

    def stop(self) -> None:
        for name, process in reversed(self.processes.items()):
            process.send_signal({"postgres": signal.SIGINT}.get(name, signal.SIGTERM))
            with suppress(subprocess.TimeoutExpired):
                process.wait(STOP_SECONDS)
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _start(self, name: str, *command: str, user: str | None = None) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = subprocess.Popen(
                command, cwd=ROOT if user is None else "/", env=self.environment(), stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, start_new_session=True, user=user,
            )  # fmt: skip

    def _wait_until(self, ready: Callable[[], bool]) -> None:
        give_up = time.monotonic() + START_SECONDS
        while not ready():
            assert time.monotonic() < give_up, f"a server in {self.folder} does not start"
            time.sleep(0.1)

    def _postgres_ready(self) -> bool:
        try:
            self.connect("postgres").close()
        except psycopg2.OperationalError:
            return False
        return True


def _answers(client: Any) -> bool:  # its types are partly unknown
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False
