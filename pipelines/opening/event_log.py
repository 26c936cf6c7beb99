"""Dagster's event log in its usual SQLite files, for runs in this process.

Dagster's own class opens the file anew for each event, and compiles each statement anew: a quarter of what a demo took.
"""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

# Dagster's documentation names this class for dagster.yaml, but exports it nowhere else.
from dagster._core.storage.event_log import SqliteEventLogStorage
from sqlalchemy import Connection, Engine, create_engine, event

INDEX = "index"  # the file of what belongs to no single run
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
