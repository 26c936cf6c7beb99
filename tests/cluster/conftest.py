"""A Postgres and a Redis of the tests' own, and a database for each test."""

import itertools
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pipelines.resources.storage.database import VARIABLE
from tests.cluster.servers import Cluster

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def servers() -> Iterator[Cluster]:
    # Not below pytest's own folder, which every pytest that starts closes to other users, such as Postgres's.
    place = Path(tempfile.mkdtemp(prefix="amemgym-servers-"))
    cluster = Cluster(place)
    cluster.start_servers()
    yield cluster
    cluster.stop()
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def database(servers: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The address of an empty database, which the installation in the environment uses."""
    name = f"test_{next(NUMBERS)}"
    with closing(servers.connect("postgres")) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    url = f"postgresql+psycopg2://postgres@/{name}?host={servers.folder}"
    monkeypatch.setenv(VARIABLE, url)
    monkeypatch.setenv("AMEMGYM_HOME", str(tmp_path))
    return url
