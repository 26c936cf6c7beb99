"""A Postgres and a Redis of the tests' own, and a database for each test."""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg2
import pytest

from pipelines.cluster.layout import Cluster
from pipelines.cluster.services import Services
from pipelines.home import Home
from pipelines.resources.databases import VARIABLE

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    place = tmp_path_factory.mktemp("servers")
    for folder in (place, *place.parents[:2]):
        folder.chmod(0o711)  # Postgres, which does not run as root, has to get through
    cluster = Cluster(Home(place))
    services = Services(cluster, tell=lambda line: print(line, file=sys.stderr))
    services.start_servers()
    yield cluster
    services.stop()


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
