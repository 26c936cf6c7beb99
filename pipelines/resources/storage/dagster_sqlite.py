"""Dagster's own storage on SQLite, with connections that stay open.

Dagster opens a file anew for each of a run's several hundred events, and waits for the disk after each. That takes a fifth
of a run whose calls are all cached.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Self

from dagster._core.instance.ref import InstanceRef
from dagster._core.storage.event_log.sqlite.sqlite_event_log import INDEX_SHARD_NAME, SqliteEventLogStorage
from dagster._core.storage.sqlite import SQLITE_BUSY_TIMEOUT_SECONDS
from dagster._core.storage.sqlite_storage import DagsterSqliteStorage
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, create_engine, event


class ConnectedEventLog(SqliteEventLogStorage):
    """Dagster's event log, connected to its index and to the run that it was last asked about."""

    def __init__(self, base_dir: str) -> None:
        self._engines: dict[str, Engine] = {}
        self._begun: set[str] = set()
        super().__init__(base_dir)

    @classmethod
    def in_place_of(cls, log: SqliteEventLogStorage) -> Self:
        """The log over the same files."""
        return cls(log._base_dir)

    @contextmanager
    def run_connection(self, run_id: str | None = None) -> Generator[Connection]:
        with self._db_lock, self._engine(str(run_id)).begin() as connection:
            yield connection

    def index_connection(self) -> Any:
        return self.run_connection(INDEX_SHARD_NAME)

    def dispose(self) -> None:
        self._close_all_but()
        super().dispose()

    def _engine(self, shard: str) -> Engine:
        if shard not in self._engines:
            # A process of many runs would come to the limit of open files.
            self._close_all_but(INDEX_SHARD_NAME, shard)
            self._engines[shard] = self._opened(shard)
        return self._engines[shard]

    def _opened(self, shard: str) -> Engine:
        # One is enough, because the log takes one at a time; what its initialization takes beside is closed.
        address, waiting = self.conn_string_for_shard(shard), {"timeout": SQLITE_BUSY_TIMEOUT_SECONDS}
        engine = create_engine(address, pool_size=1, connect_args=waiting)
        event.listen(engine, "connect", _sync_at_checkpoints)
        if shard not in self._begun:
            self._initdb(engine)
            self._begun.add(shard)
        return engine

    def _close_all_but(self, *shards: str) -> None:
        for shard in self._engines.keys() - set(shards):
            self._engines.pop(shard).dispose()


def _sync_at_checkpoints(connection: Any, _: object) -> None:
    # A power failure may cost the last events. What they are about is stored elsewhere, and in full.
    connection.execute("PRAGMA synchronous = NORMAL")


class ConnectedSqliteStorage(DagsterSqliteStorage):
    """Dagster's storage in the same files, with an event log that stays connected."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        super().__init__(base_dir, inst_data)
        self._event_log_storage = ConnectedEventLog.in_place_of(self._event_log_storage)

    @classmethod
    def from_config_value(cls, inst_data: ConfigurableClassData | None, config_value: Any) -> Self:
        return cls.from_local(inst_data=inst_data, **config_value)


def stay_connected(ref: InstanceRef) -> InstanceRef:
    """The same instance with this storage, if Dagster's settings name no other than its SQLite files."""
    storage = ref.storage_data
    if storage is None or storage.class_name != DagsterSqliteStorage.__name__:
        return ref
    return ref._replace(storage_data=ConfigurableClassData(__name__, ConnectedSqliteStorage.__name__, storage.config_yaml))
