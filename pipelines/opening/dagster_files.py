"""Dagster's event log and runs in their usual SQLite files, for runs in this process.

Dagster's own event log opens the file anew for each event, and compiles each statement anew: a quarter of what a demo took.
Its own runs do not say which project a run of this process is of, so that the timeline of the UI leaves them out.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import dagster as dg

# Dagster's documentation names the storages for dagster.yaml, but exports them nowhere else. Only a run that Dagster launched
# itself is given an origin, and there is no public way to give it one.
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.runs import SqliteRunStorage
from sqlalchemy import Connection, Engine, create_engine, event

INDEX = "index"  # the file of what belongs to no single run
CODE_LOCATION = "amemgym"  # as `[tool.dg.project]` names it; also in addresses of Dagster's pages, and so in our links
BUSY_SECONDS = 30  # as long as Dagster waits for another process


class OpenEventLog(SqliteEventLogStorage):
    """Keeps the connection to each file open until it is disposed."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._engines: dict[str, Engine] = {}
        super().__init__(*arguments, **options)

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> "OpenEventLog":
        return cls(inst_data=inst_data, **config_value)

    def run_connection(self, run_id: str | None = None) -> Any:
        return self._connection(run_id or "")

    def index_connection(self) -> Any:
        return self._connection(INDEX)

    def has_table(self, table_name: str) -> bool:
        with self._connection(INDEX) as connection:
            return connection.dialect.has_table(connection, table_name)

    @contextmanager
    def _connection(self, file: str) -> Generator[Connection]:
        """Yield a connection in a transaction."""
        if file not in self._engines:
            # Dagster's own way makes the file and its tables.
            with super().run_connection(file):
                engine = create_engine(self.conn_string_for_shard(file), connect_args={"timeout": BUSY_SECONDS})
            if file != INDEX:
                event.listen(engine, "connect", write_through)
            self._engines[file] = engine
        with self._engines[file].begin() as connection:
            yield connection

    def dispose(self) -> None:
        super().dispose()
        while self._engines:
            _, engine = self._engines.popitem()
            engine.dispose()


def write_through(connection: Any, _: object) -> None:
    """Have each event written into the file itself, not into a log beside it: the page of a run watches the file."""
    connection.execute("PRAGMA wal_autocheckpoint = 1")


class RunsOfThisProject(SqliteRunStorage):
    """Notes of each run that it is of this project, as Dagster's daemon does of a run that it launches."""

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> "RunsOfThisProject":
        return cls.from_local(inst_data=inst_data, **config_value)

    def add_run(self, dagster_run: dg.DagsterRun) -> dg.DagsterRun:
        location = RegisteredCodeLocationOrigin(CODE_LOCATION)
        repository = RemoteRepositoryOrigin(location, "__repository__")
        return super().add_run(dagster_run.with_job_origin(repository.get_job_origin(dagster_run.job_name)))
