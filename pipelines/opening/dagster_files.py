"""Dagster's instance and event log of this project. The SQLite files are Dagster's usual ones.

Dagster's own event log reopens the file and recompiles the statement for each event; that took a quarter of a demo's time.
"""

import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

import dagster as dg

# Private imports: Dagster documents its event log for dagster.yaml, and asks a class that dagster.yaml names as its instance
# for its defaults, but exports neither.
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.event_log import SqliteEventLogStorage
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


class ProjectInstance(dg.DagsterInstance):
    """Dagster's instance. A run in this process is recorded as one of this project, so that the UI's timeline shows it."""

    @classmethod
    def config_schema(cls) -> dict[str, Any]:
        """Return the settings of its own that `dagster.yaml` may hold: none."""
        return {}

    @classmethod
    def config_defaults(cls, base_dir: str) -> Mapping[str, Any]:
        """Return what holds where `dagster.yaml` says nothing, as in Dagster's own class."""
        return InstanceRef.config_defaults(base_dir)

    def create_run_for_job(self, job_def: dg.JobDefinition, *arguments: Any, **fields: Any) -> dg.DagsterRun:
        if fields.get("remote_job_origin") is None:
            fields["remote_job_origin"] = _origin_of(job_def.name)
        return super().create_run_for_job(job_def, *arguments, **fields)


def _origin_of(job: str) -> Any:
    """Return the origin that Dagster records of a job's runs which it launches itself, read from the form that it stores."""
    location = {"__class__": "RegisteredRepositoryLocationOrigin", "location_name": CODE_LOCATION}
    repository = {
        "__class__": "ExternalRepositoryOrigin",
        "repository_location_origin": location,
        "repository_name": "__repository__",
    }
    origin = {"__class__": "ExternalPipelineOrigin", "external_repository_origin": repository, "pipeline_name": job}
    return dg.deserialize_value(json.dumps(origin))
