"""A Postgres and a Redis of the tests' own, and a database for each test."""

import itertools
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest

from pipelines.cluster.layout import Cluster
from pipelines.cluster.services import Services
from pipelines.home import Home
from pipelines.resources.storage.database import VARIABLE

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def servers() -> Iterator[Cluster]:
    # Not below pytest's own folder, which every pytest that starts closes to other users, such as Postgres's.
    place = Path(tempfile.mkdtemp(prefix="amemgym-servers-"))
    place.chmod(0o711)
    cluster = Cluster(Home(place))
    services = Services(cluster, report=lambda line: print(line, file=sys.stderr))
    services.start_servers()
    yield cluster
    services.stop()
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def database(servers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty database, which the installation in the environment uses."""
    name = f"test_{next(NUMBERS)}"
    connection = psycopg2.connect(host=str(servers.sockets), user="postgres", dbname="postgres")
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    connection.close()
    url = f"postgresql+psycopg2://postgres@/{name}?host={servers.sockets}"
    monkeypatch.setenv(VARIABLE, url)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    return url
