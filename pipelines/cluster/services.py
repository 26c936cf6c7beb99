"""The processes of the cluster on this machine: started in order, started again when they die, stopped together."""

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg2
import redis

from pipelines.cluster.layout import DATABASE, FILES, Cluster, module, program, server_user
from pipelines.errors import Problem

START_SECONDS = 60.0  # a Postgres that was killed reads its log first
STOP_SECONDS = 10.0
CHECK_SECONDS = 1.0
DAGSTER_PROCESSES = "pipelines.cluster.worker|dagster._daemon|pipelines.ui.server"
REDIS = "port 0\nunixsocket {sockets}/redis.sock\nunixsocketperm 700\ndir {folder}\nappendonly yes\n"


@dataclass
class Service:
    """One process. `stop`: the signal that ends it soon. `user`: as whom it runs."""

    name: str
    command: list[str]
    stop: signal.Signals = signal.SIGTERM
    user: str | None = None
    process: "subprocess.Popen[bytes] | None" = field(default=None, repr=False)

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def start(self, cluster: Cluster) -> None:
        """Start it in a session of its own, so that signals of the terminal reach only whoever looks after it."""
        with (cluster.folder / "logs" / f"{self.name}.log").open("ab") as log:
            self.process = subprocess.Popen(  # noqa: S603 (our own words)
                self.command,
                cwd=FILES.parent.parent,
                env=cluster.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                user=self.user,
            )

    def end(self) -> None:
        """Stop it with all that it started."""
        if self.process is None:
            return
        if self.running:
            self.process.send_signal(self.stop)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(STOP_SECONDS)
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Services:
    """The processes of one cluster, in the order in which they are started."""

    def __init__(self, cluster: Cluster, *, report: Callable[[str], None]) -> None:
        self._cluster = cluster
        self._report = report
        self._stopping = threading.Event()
        self.services: list[Service] = []

    def start(self) -> None:
        """Start everything. Raises Problem when something does not come up, with its log's place."""
        self.start_servers()
        for service in dagster_services(self._cluster):
            self._start(service)

    def start_servers(self) -> None:
        """Start Postgres and Redis without workers and UI, for tests."""
        if self._postgres_ready():
            raise Problem(
                f"A cluster of {self._cluster.home.root} runs already. End it with Ctrl-C where it was begun; if that process "
                f"was killed, what it left runs on: `pgrep -af '{self._cluster.sockets.name}|{DAGSTER_PROCESSES}'` finds its "
                f"Postgres and Redis, and every worker, daemon and web server of this machine."
            )
        self._cluster.prepare()
        for service, ready in ((_postgres(self._cluster), self._postgres_ready), (_redis(self._cluster), self._redis_ready)):
            self._start(service)
            self._wait_until(service, ready)

    def supervise(self) -> None:
        """Restart whatever process dies, until `stop` is called."""
        while not self._stopping.wait(CHECK_SECONDS):
            for service in self.services:
                if not service.running:
                    self._report(f"{service.name} has ended and is started again")
                    service.start(self._cluster)

    def stop(self) -> None:
        """End every process, the one started last first."""
        self._stopping.set()
        for service in reversed(self.services):
            service.end()
        if self.services:
            shutil.rmtree(self._cluster.sockets, ignore_errors=True)

    def _start(self, service: Service) -> None:
        service.start(self._cluster)
        self.services.append(service)

    def _wait_until(self, service: Service, ready: Callable[[], bool]) -> None:
        give_up = time.monotonic() + START_SECONDS
        while not ready():
            if not service.running or time.monotonic() > give_up:
                raise Problem(f"{service.name} does not start; see {self._cluster.folder / 'logs' / service.name}.log")
            time.sleep(0.1)

    def _postgres_ready(self) -> bool:
        try:
            connection = psycopg2.connect(host=str(self._cluster.sockets), user="postgres", dbname="postgres")
        except psycopg2.OperationalError:
            return False
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 FROM pg_database WHERE datname = %s", (DATABASE,))
            if cursor.fetchone() is None:
                cursor.execute(f"CREATE DATABASE {DATABASE}")
        connection.close()
        return True

    def _redis_ready(self) -> bool:
        client: Any = redis.Redis(unix_socket_path=str(self._cluster.sockets / "redis.sock"))
        try:
            return bool(client.ping())
        except redis.ConnectionError:
            return False


def dagster_services(cluster: Cluster) -> list[Service]:
    """Workers of one pool process each, the daemon and the web server."""
    workspace = str(FILES / "workspace.yaml")
    worker = [*module("celery"), "-A", "pipelines.cluster.worker", "worker", "-Q", "dagster", "-c", "1", "-l", "INFO"]
    # A worker told to quit leaves its run to the next start, which finds that nobody has it.
    workers = [
        Service(f"worker-{number}", [*worker, "-n", f"worker-{number}@%h"], stop=signal.SIGQUIT)
        for number in range(1, cluster.workers + 1)
    ]
    page = [*module("pipelines.ui.server"), workspace, "127.0.0.1", str(cluster.port)]
    return [*workers, Service("daemon", [*module("dagster._daemon"), "run", "-w", workspace]), Service("webserver", page)]


def _redis(cluster: Cluster) -> Service:
    folder = cluster.folder / "redis"
    folder.mkdir(exist_ok=True)
    settings = folder / "redis.conf"
    settings.write_text(REDIS.format(sockets=cluster.sockets, folder=folder), encoding="utf-8")
    return Service("redis", [program("redis-server"), str(settings)])


def _postgres(cluster: Cluster) -> Service:
    folder = cluster.folder / "postgres"
    user = server_user()
    if user is not None:
        shutil.chown(cluster.sockets, user)
    if not (folder / "PG_VERSION").exists():
        _make_database(folder, user=user)
    options = ["-D", str(folder), "-k", str(cluster.sockets), "-c", "listen_addresses=", "-c", "max_connections=300"]
    options += ["-c", "unix_socket_permissions=0700"]
    return Service("postgres", [program("postgres"), *options], stop=signal.SIGINT, user=user)


def _make_database(folder: Path, *, user: str | None) -> None:
    folder.mkdir(exist_ok=True)
    if user is not None:
        shutil.chown(folder, user)
    # Whoever gets at the socket is let in: it is its owner's alone, as is Redis's, and so the rights of both are the lock.
    command = [program("initdb"), "-D", str(folder), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale"]
    made = subprocess.run(command, user=user, cwd="/", capture_output=True, text=True, check=False)  # noqa: S603 (our own words)
    if made.returncode:
        raise Problem(f"A Postgres cannot be made in {folder}: {' '.join(made.stderr.split()) or made.returncode}.")
