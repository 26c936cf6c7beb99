"""Dagster's instance and event log of this project. The SQLite files are Dagster's usual ones.

Dagster's own event log reopens the file and recompiles the statement for each event; that took a quarter of a demo's time.
"""

import json
import os
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import dagster as dg

# Private imports: Dagster documents its event log for dagster.yaml, and asks a class that dagster.yaml names as its instance
# for its defaults, but exports neither.
from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.event_log import SqliteEventLogStorage
from filelock import FileLock
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
    """Dagster's instance. A run in this process is recorded as one of this project, so that the UI's timeline shows it.

    It is alive while this process holds the lock on its file.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self._alive: list[FileLock] = []
        super().__init__(*arguments, **options)

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
        fields["run_id"] = fields.get("run_id") or str(uuid4())
        folder = _locks_of_runs(self)
        folder.mkdir(exist_ok=True)
        lock = FileLock(folder / fields["run_id"], thread_local=False, fallback_to_soft=False)
        lock.acquire()
        self._alive.append(lock)
        return super().create_run_for_job(job_def, *arguments, **fields)

    def dispose(self) -> None:
        super().dispose()
        while self._alive:
            lock = self._alive.pop()
            Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()


def _locks_of_runs(instance: dg.DagsterInstance) -> Path:
    return Path(instance.root_directory) / "runs_of_commands"


def find_killed_commands(folder: Path) -> Iterator[str]:
    """Yield the ids of runs whose process was killed, each while its lock is held here."""
    for path in sorted(folder.glob("runs_of_commands/*")):
        try:
            with FileLock(path, timeout=0, fallback_to_soft=False):
                yield path.name
        except OSError:  # its process holds it, or the disk cannot be written
            continue


def cancel_killed_commands(instance: dg.DagsterInstance) -> list[str]:
    """Cancel the runs whose process was killed, which others would wait for, and return a sentence on each."""
    sentences: list[str] = []
    for run_id in find_killed_commands(Path(instance.root_directory)):
        run = instance.get_run_by_id(run_id)
        if run is not None and not run.is_finished:
            sentence = f"Run {run_id[:8]} ({run.job_name}) was cancelled, because the command that made it was killed."
            instance.report_run_canceled(run, sentence)
            sentences.append(sentence)
        (_locks_of_runs(instance) / run_id).unlink(missing_ok=True)
    return sentences


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
