"""A key-value store in a database. Several processes can use it, kills do not harm it, and it never blocks the event loop.

One thread per store owns the connection. Puts that wait at the same time are committed together, so that a hundred
finished users cost one write to the disk. A store is not bound to an event loop, so several loops can share it.
"""

import asyncio
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TypeVar

from pipelines.errors import StoreError
from pipelines.resources.storage.database import Claims, Connection, Database, KeyValueTable
from pipelines.resources.storage.sqlite import SqliteFile

T = TypeVar("T")
SqlValue = str | int | float | None
RECONNECT_SECONDS = 60.0  # how long to try again after a connection was lost
RETRY_SECONDS = 0.5
DIGEST = {"digest": "TEXT"}
LOG = logging.getLogger(__name__)


@dataclass
class _Batch:
    rows: list[tuple[object, ...]] = field(default_factory=list[tuple[object, ...]])
    waiting: "list[Future[None]]" = field(default_factory=list["Future[None]"])

    def resolve(self, commit: "Future[None]") -> None:
        """Resolve the futures of all puts in the batch that still wait."""
        error = commit.exception()
        for waiter in self.waiting:
            if not waiter.set_running_or_notify_cancel():
                continue
            if error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(error)


class KeyValueStore:
    """A table of values by key; the first value of a key stays.

    `database`: a path means a SQLite file. `columns`: further columns, name to SQL type. `extra_tables`: further key-value
    tables that jobs use in the same transactions. `checked`: each row holds a digest of its value; a row whose digest does not
    match is deleted with a warning and counts as missing. `replaced_where`: an SQL condition for rows that a later put may
    replace; the new row is the table's last one.
    """

    def __init__(
        self,
        database: Path | Database,
        *,
        table: str,
        columns: Mapping[str, str] | None = None,
        extra_tables: Sequence[str] = (),
        checked: bool = False,
        replaced_where: str = "",
    ) -> None:
        self.database: Database = SqliteFile(database) if isinstance(database, Path) else database
        self._checked = checked
        further = dict(columns or {})
        if checked:
            further.update(DIGEST)
        self._table = KeyValueTable(table, further)
        self._tables = (self._table, *map(KeyValueTable, extra_tables))
        names = ("key", "value", *self._table.columns)
        marks = ", ".join("?" for _ in names)
        self._insert = f'INSERT INTO "{table}" ({", ".join(names)}) VALUES ({marks}) ON CONFLICT (key) DO NOTHING'
        self._make_way = f'DELETE FROM "{table}" WHERE key = ? AND {replaced_where}' if replaced_where else ""
        digest = "digest" if checked else "NULL"
        self._select = f'SELECT value, {digest} FROM "{table}" WHERE key = ?'
        self._delete = f'DELETE FROM "{table}" WHERE key = ?'
        self._lock = threading.Lock()
        self._executor: ThreadPoolExecutor | None = None
        self._batch: _Batch | None = None
        self._thread_local = threading.local()

    @cached_property
    def claims(self) -> Claims:
        """The claims of keys that all users of the same database share. Raises StoreError."""
        return self.database.claims(self.run)

    async def get(self, key: str) -> bytes | None:
        """Return the value that any process has put for the key; None if there is none."""
        row = await self.run(lambda connection: connection.execute(self._select, (key,)).fetchone())
        if row is None:
            return None
        if self._checked and row[1] != digest_of(key, row[0]):
            await self.drop(key)
            return None
        return row[0]

    async def drop(self, key: str) -> None:
        """Delete the key's damaged row with a warning. Its value will be requested or made again."""
        LOG.warning("A row of %s in %s is damaged and was deleted; its value is made again.", self._table.name, self.database)
        await self.run(lambda connection: connection.execute(self._delete, (key,)))

    async def put(self, key: str, value: bytes, *, extra: Mapping[str, SqlValue] | None = None) -> None:
        """Store the value, and return when the row is on the disk. A cancelled put may still be stored."""
        given = extra or {}
        columns = self._table.columns
        if given.keys() - columns.keys():
            raise ValueError(f"KeyValueTable {self._table.name} has no columns {sorted(given.keys() - columns.keys())}.")
        if self._checked:
            given = {**given, "digest": digest_of(key, value)}
        waiter: Future[None] = Future()
        with self._lock:
            if self._batch is None:
                self._batch = _Batch()
                self._submit(partial(self._commit, self._batch)).add_done_callback(self._batch.resolve)
            self._batch.rows.append((key, value, *(given.get(name) for name in columns)))
            self._batch.waiting.append(waiter)
        await asyncio.wrap_future(waiter)

    async def run(self, job: Callable[[Connection], T]) -> T:
        """Call the job with the connection, in the store's thread; puts wait until it returns. Raises StoreError.

        After a lost connection the job is called again with a new one, for up to a minute, so it must be repeatable.
        """
        with self._lock:
            future = self._submit(lambda: self._with_connection(job))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Finish the waiting jobs and disconnect. The store reconnects when it is used again."""
        with self._lock:
            executor = self._executor
            self._executor = None
            if executor is not None:
                executor.submit(self._disconnect)
        if executor is not None:
            # A finalizer may call this in the store's own thread, which cannot wait for itself.
            executor.shutdown(wait=not getattr(self._thread_local, "is_own_thread", False))

    def _submit(self, job: Callable[[], T]) -> "Future[T]":
        if self._executor is None:
            self._executor = ThreadPoolExecutor(
                max_workers=1, thread_name_prefix=f"store-{self._table.name}", initializer=self._mark_thread
            )
        return self._executor.submit(job)

    def _mark_thread(self) -> None:
        self._thread_local.is_own_thread = True

    def _commit(self, batch: _Batch) -> None:
        with self._lock:
            self._batch = None
        self._with_connection(partial(self._write, batch))

    def _write(self, batch: _Batch, connection: Connection) -> None:
        with connection.writing():
            if self._make_way:
                connection.executemany(self._make_way, [row[:1] for row in batch.rows])
            connection.executemany(self._insert, batch.rows)

    def _with_connection(self, job: Callable[[Connection], T]) -> T:
        held: Connection | None = getattr(self._thread_local, "connection", None)
        give_up = time.monotonic() + RECONNECT_SECONDS
        while True:
            try:
                return job(getattr(self._thread_local, "connection", None) or self._connect())
            except self.database.errors as error:
                lost = self.database.is_disconnect(error)
                if held is None or not lost or time.monotonic() > give_up:
                    self._raise_store_error(error)
                    raise
            # Retry: a restarting server refuses connections for a moment, and the waiting replies have been paid for.
            self._disconnect()
            time.sleep(RETRY_SECONDS)

    def _raise_store_error(self, error: Exception) -> None:
        """Raise StoreError, unless the error is the job's own fault."""
        sentence = self.database.diagnose(error)
        if sentence is not None:
            self._disconnect()
            raise StoreError(sentence) from error

    def _connect(self) -> Connection:
        connection = self._thread_local.connection = self.database.connect(self._tables)
        return connection

    def _disconnect(self) -> None:
        connection: Connection | None = getattr(self._thread_local, "connection", None)
        if connection is not None:
            connection.close()
            self._thread_local.connection = None


def digest_of(key: str, value: object) -> str:
    """Return the digest that a checked row stores with its value; "" for a value of a type that we never store."""
    return hashlib.sha256(key.encode() + b"\n" + value).hexdigest()[:32] if isinstance(value, bytes) else ""
