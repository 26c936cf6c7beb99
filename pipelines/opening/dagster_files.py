"""Dagster's storages for events and runs, for runs in this process. The SQLite files are Dagster's usual ones.

Dagster's own event log reopens the file and recompiles the statement for each event; that took a quarter of a demo's time.
Dagster's own run storage does not record the project of a run in this process, so the UI's timeline would not show the run.
"""

import os
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import dagster as dg

# Private imports: Dagster documents these storages for dagster.yaml, but does not export them. There is no public way to give
# a run an origin; only runs that Dagster launched itself get one.
from dagster._core.remote_origin import RegisteredCodeLocationOrigin, RemoteRepositoryOrigin
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.runs import SqliteRunStorage
from sqlalchemy import Connection, Engine, create_engine, event

INDEX = "index"  # Dagster's name for the file that all runs share
CODE_LOCATION = "amemgym"  # from `[tool.dg.project]`; part of the addresses of Dagster's pages
BUSY_SECONDS = 30  # how long to wait for another process's lock, as in Dagster


class OpenEventLog(SqliteEventLogStorage):
    """An event log that keeps the connection to each file open until `dispose`."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._engines: dict[str, Engine] = {}
        super().__init__(*arguments, **options)

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> "OpenEventLog":
        return cls(inst_data=inst_data, **config_value)

    @contextmanager
    def run_connection(self, run_id: str | None = None) -> Generator[Connection]:
        with self._connection(run_id or "") as connection:
            yield connection
        # A run's page watches the file, and SQLite writes into its WAL file first.
        os.utime(self.path_for_shard(run_id or ""))

    def index_connection(self) -> Any:
        return self._connection(INDEX)

    def has_table(self, table_name: str) -> bool:
        with self._connection(INDEX) as connection:
            return connection.dialect.has_table(connection, table_name)

    @contextmanager
    def _connection(self, file: str) -> Generator[Connection]:
        """Yield a connection to the file, inside a transaction that is committed at the end."""
        if file not in self._engines:
            # Dagster's own method creates the file and its tables.
            with super().run_connection(file):
                engine = create_engine(self.conn_string_for_shard(file), connect_args={"timeout": BUSY_SECONDS})
            event.listen(engine, "connect", sync_at_checkpoints)
            self._engines[file] = engine
        with self._engines[file].begin() as connection:
            yield connection

    def dispose(self) -> None:
        super().dispose()
        while self._engines:
            _, engine = self._engines.popitem()
            engine.dispose()


def sync_at_checkpoints(connection: Any, _: object) -> None:
    """Make SQLite wait for the disk at its checkpoints alone: a loss of power may take the last events, and damages no file."""
    connection.execute("PRAGMA synchronous = NORMAL")


class RunsOfThisProject(SqliteRunStorage):
    """A run storage that records this project as the origin of each run, as Dagster's daemon does for runs that it launches."""

    @classmethod
    def from_config_value(cls, inst_data: Any, config_value: Any) -> "RunsOfThisProject":
        return cls.from_local(inst_data=inst_data, **config_value)

    def add_run(self, dagster_run: dg.DagsterRun) -> dg.DagsterRun:
        location = RegisteredCodeLocationOrigin(CODE_LOCATION)
        repository = RemoteRepositoryOrigin(location, "__repository__")
        return super().add_run(dagster_run.with_job_origin(repository.get_job_origin(dagster_run.job_name)))
