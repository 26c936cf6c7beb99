"""Bytes by key in SQLite: safe under several processes and kills, and never in the way of the event loop.

One thread per store owns the connection. Puts that wait at the same time are committed together, so that a hundred
finished users cost one write to the disk. Nothing is bound to an event loop, so one store serves many of them.
"""

import asyncio
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
SqlValue = str | int | float | None
BUSY_SECONDS = 60.0
PRIMARY_CODE = 0xFF
REMEDIES = {
    sqlite3.SQLITE_CORRUPT: "is damaged; move it away, with its -wal and -shm neighbours, and what it held is made anew",
    sqlite3.SQLITE_NOTADB: "is not a SQLite database; move it away, and what it should hold is made anew",
    sqlite3.SQLITE_FULL: "cannot grow because the disk is full; make room and run again, what was stored is kept",
    sqlite3.SQLITE_READONLY: "cannot be written; make the file and its folder writable, or choose another place",
    sqlite3.SQLITE_PERM: "cannot be opened; make the file and its folder writable, or choose another place",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; make the file and its folder writable, or choose another place",
    sqlite3.SQLITE_IOERR: "cannot be read or written; check the disk, and keep the file on a local one",
    sqlite3.SQLITE_PROTOCOL: "cannot be locked; keep the file on a local disk, not on a network drive",
    sqlite3.SQLITE_BUSY: "is held by another process; end that process, or wait for it, and run again",
}


class StoreError(OSError):
    """The file cannot be used; one sentence names it and says what to do."""


@dataclass
class _Batch:
    rows: list[tuple[object, ...]] = field(default_factory=list[tuple[object, ...]])
    waiting: "list[Future[None]]" = field(default_factory=list["Future[None]"])

    def settle(self, commit: "Future[None]") -> None:
        """Tell everyone who still waits how the commit ended."""
        error = commit.exception()
        for waiter in self.waiting:
            if not waiter.set_running_or_notify_cancel():
                continue
            if error is None:
                waiter.set_result(None)
            else:
                waiter.set_exception(error)


class KeyedStore:
    """A table of values by key; the first value of a key stays. `columns` adds columns: name to SQL type."""

    def __init__(self, path: Path, *, table: str, columns: Mapping[str, str] | None = None) -> None:
        self.path = path
        self._table = table
        self._columns = dict(columns or {})
        names = ("key", "value", *self._columns)
        marks = ", ".join("?" for _ in names)
        self._insert = f'INSERT INTO "{table}" ({", ".join(names)}) VALUES ({marks}) ON CONFLICT (key) DO NOTHING'
        self._select = f'SELECT value FROM "{table}" WHERE key = ?'
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._batch: _Batch | None = None
        self._own = threading.local()

    async def get(self, key: str) -> bytes | None:
        """The value of the key, if any process has put one."""
        row = await self.run(lambda connection: connection.execute(self._select, (key,)).fetchone())
        return None if row is None else row[0]

    async def put(self, key: str, value: bytes, *, extra: Mapping[str, SqlValue] | None = None) -> None:
        """Return when the row is on the disk. A cancelled put may still be stored."""
        given = extra or {}
        if given.keys() - self._columns.keys():
            raise ValueError(f"Table {self._table} has no columns {sorted(given.keys() - self._columns.keys())}.")
        waiter: Future[None] = Future()
        with self._lock:
            if self._batch is None:
                self._batch = _Batch()
                self._submit(partial(self._commit, self._batch)).add_done_callback(self._batch.settle)
            self._batch.rows.append((key, value, *(given.get(name) for name in self._columns)))
            self._batch.waiting.append(waiter)
        await asyncio.wrap_future(waiter)

    async def run(self, job: Callable[[sqlite3.Connection], T]) -> T:
        """Call the job with the connection, in the store's thread; puts wait until it returns."""
        with self._lock:
            future = self._submit(lambda: self._with_connection(job))
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Finish what waits and let go of the file. The store opens again when it is next used."""
        with self._lock:
            thread, self._thread = self._thread, None
            if thread is not None:
                thread.submit(self._disconnect)
        if thread is not None:
            thread.shutdown(wait=True)

    def _submit(self, job: Callable[[], T]) -> "Future[T]":
        if self._thread is None:
            self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"store-{self._table}")
        return self._thread.submit(job)

    def _commit(self, batch: _Batch) -> None:
        with self._lock:
            self._batch = None
        self._with_connection(partial(self._write, batch))

    def _write(self, batch: _Batch, connection: sqlite3.Connection) -> None:
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(self._insert, batch.rows)

    def _with_connection(self, job: Callable[[sqlite3.Connection], T]) -> T:
        with self._in_one_sentence():
            connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
            if connection is None:
                connection = self._own.connection = self._connect()
            return job(connection)

    @contextmanager
    def _in_one_sentence(self) -> Generator[None]:
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE
            if code not in REMEDIES:
                raise
            self._disconnect()
            raise StoreError(f"{self.path} {REMEDIES[code]} ({error}).") from error

    def _connect(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.path} {REMEDIES[sqlite3.SQLITE_CANTOPEN]} ({error.strerror}).") from error
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            _use_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            self._create(connection)
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _create(self, connection: sqlite3.Connection) -> None:
        """Make the table, or add the columns that an older version of the file lacks."""
        found = self._found_columns(connection)
        if found.issuperset({"key", *self._columns}):
            return
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(f'CREATE TABLE IF NOT EXISTS "{self._table}" (key TEXT PRIMARY KEY, value BLOB NOT NULL)')
            found = self._found_columns(connection)
            for name in self._columns.keys() - found:
                connection.execute(f'ALTER TABLE "{self._table}" ADD COLUMN {name} {self._columns[name]}')

    def _found_columns(self, connection: sqlite3.Connection) -> set[str]:
        return {row[1] for row in connection.execute(f'PRAGMA table_info("{self._table}")')}

    def _disconnect(self) -> None:
        connection: sqlite3.Connection | None = getattr(self._own, "connection", None)
        if connection is not None:
            connection.close()
            self._own.connection = None


def _use_wal(connection: sqlite3.Connection) -> None:
    """Turn write-ahead logging on. SQLite does not wait by itself when two processes do so at once."""
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & PRIMARY_CODE != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.05)
