"""Folders, sockets and environment of a cluster on one machine."""

import hashlib
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pipelines.errors import Problem
from pipelines.home import Home

FILES = Path(__file__).parent
DATABASE = "amemgym"
RUNS_AT_ONCE = "AMEMGYM_RUNS_AT_ONCE"


@dataclass(frozen=True)
class Cluster:
    """Redis, Postgres, workers, daemon and web server of one data folder. Sockets stand for ports: nobody else has them."""

    home: Home
    workers: int = 2
    port: int = 3000

    @property
    def folder(self) -> Path:
        """The services' files and their logs."""
        return self.home.root / "cluster"

    @property
    def sockets(self) -> Path:
        """A short path, because a socket's may have a hundred characters only."""
        name = hashlib.sha256(str(self.home.root).encode()).hexdigest()[:12]
        return Path(tempfile.gettempdir()) / f"amemgym-{os.getuid()}-{name}"

    @property
    def database(self) -> str:
        """The address of the workers' database."""
        return f"postgresql+psycopg2://postgres@/{DATABASE}?host={self.sockets}"

    @property
    def broker(self) -> str:
        """The address of the Redis that Celery uses as broker."""
        return f"redis+socket://{self.sockets}/redis.sock"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def environment(self) -> dict[str, str]:
        """The environment of web server, daemon and workers: the caller's, and the services."""
        return {
            **os.environ,
            "AMEMGYM_HOME": str(self.home.root),
            "AMEMGYM_DATABASE": self.database,
            "AMEMGYM_BROKER": self.broker,
            RUNS_AT_ONCE: str(self.workers),
            "DAGSTER_HOME": str(self.folder / "dagster"),
            "PYTHONWARNINGS": "ignore",
        }

    def prepare(self) -> None:
        """Make the folders. Raises Problem when others may get at the sockets."""
        for folder in (self.folder / "dagster", self.folder / "logs"):
            folder.mkdir(parents=True, exist_ok=True)
        self.sockets.mkdir(mode=0o711, exist_ok=True)
        if self.sockets.stat().st_uid not in (os.getuid(), _server_uid()):
            raise Problem(f"{self.sockets} belongs to somebody else; remove it, or set TMPDIR to a folder of your own.")
        shutil.copy(FILES / "dagster.yaml", self.folder / "dagster" / "dagster.yaml")
        (self.folder / "url").write_text(self.url, encoding="utf-8")


def runs_at_once() -> int:
    """Return the number of runs that all workers carry out at once; 1 where the variable is not set.

    Raises Problem where it is set to what Dagster takes for no run, for runs without end, or for no number.
    """
    given = os.environ.get(RUNS_AT_ONCE, "1")
    if not given.strip().isdecimal() or int(given) < 1:
        raise Problem(
            f"{RUNS_AT_ONCE} is {given!r}; give the pool processes of all workers, 1 or more, as in {RUNS_AT_ONCE}=8."
        )
    return int(given)


def program(name: str) -> str:
    """A server's program. Raises Problem with the packages to install."""
    # Debian keeps the servers of PostgreSQL out of PATH, a folder for each version.
    versions = sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)
    for folders in (None, *versions):
        found = shutil.which(name, path=folders)
        if found is not None:
            return found
    raise Problem(f"There is no {name}; install Redis and PostgreSQL (on Debian: apt-get install redis-server postgresql).")


def module(name: str) -> list[str]:
    """A Python module as a command of this interpreter."""
    return [sys.executable, "-m", name]


def server_user() -> str | None:
    """Return the user that Postgres runs as, where the caller is root, which it refuses; else None."""
    return "postgres" if os.getuid() == 0 else None


def _server_uid() -> int:
    import pwd

    try:
        return pwd.getpwnam("postgres").pw_uid if os.getuid() == 0 else os.getuid()
    except KeyError as error:
        raise Problem("PostgreSQL does not run as root, and there is no user postgres; start as another user.") from error
