"""Tables in one SQLite file: safe under several processes of one machine, and under kills."""

import errno
import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import AbstractAsyncContextManager, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from filelock import AsyncFileLock, FileLock

from assets.reporting.plurals import counted
from pipelines.errors import StoreError
from pipelines.resources.storage.database import KeyValueTable, RunJob, place_of

BUSY_SECONDS = 60.0
PRIMARY_CODE = 0xFF
HEADER_BYTES = 100  # SQLite takes a file of fewer bytes for a new one
SALVAGE = "amemgym doctor --repair copies what can be read of it into a new file"
REPLACE = "amemgym doctor --repair sets it aside, and another is begun without what it held"
NOT_WRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN)
# Its file of locks cannot be put beside it: the folder cannot be written, or the disk is full. The database may be whole.
NO_FILE_OF_LOCKS = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMMAP,
)
REMEDIES = {
    sqlite3.SQLITE_CORRUPT: f"is damaged; {SALVAGE}",
    sqlite3.SQLITE_NOTADB: f"is not a SQLite database; {REPLACE}",
    sqlite3.SQLITE_FULL: "cannot grow because the disk is full; make room and run again, what was stored is kept",
    sqlite3.SQLITE_READONLY: "cannot be written; make the file and its folder writable, or choose another place",
    sqlite3.SQLITE_PERM: "cannot be opened; make the file and its folder writable, or choose another place",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; make the file and its folder writable, or choose another place",
    sqlite3.SQLITE_IOERR: "cannot be read or written; check the disk, and keep the file on a local one",
    sqlite3.SQLITE_PROTOCOL: "cannot be locked; keep the file on a local disk, not on a network drive",
    sqlite3.SQLITE_BUSY: "is held by another process; end that process, or wait for it, and run again",
}


class SqliteConnection(sqlite3.Connection):
    """The Connection port as a subclass, so that statements pass through no layer of ours.

    Damaged text is read with marks in place of what is no UTF-8: its digest does not fit then, whereas an error names no row.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.text_factory = partial(str, encoding="utf-8", errors="replace")

    @contextmanager
    def writing(self) -> Generator[None]:
        """A transaction that has the file's write lock from its start."""
        with self:
            self.execute("BEGIN IMMEDIATE")
            yield


class FileClaims:
    """The Claims port for the processes of a machine: locks on single bytes of a file, which die with their process.

    A process's own claims are a set, because such locks do not hold within one process. There is one object per file, which
    is never closed: to close a file of this path would give up all locks of the process.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab")
        self._own: set[str] = set()
        self._lock = threading.Lock()

    async def take(self, key: str) -> bool:
        with self._lock:
            if key in self._own:
                return False
            try:
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, place_of(key))
            except (BlockingIOError, PermissionError):
                return False
            self._own.add(key)
            return True

    async def release(self, key: str) -> None:
        with self._lock:
            self._own.discard(key)
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, place_of(key))


_CLAIMS: dict[Path, FileClaims] = {}


@dataclass(frozen=True)
class SqliteFile:
    """The Database port over a file, in WAL mode with full synchronization.

    `reading`: nothing will be written, so a file or folder that cannot be written will do.
    """

    path: Path
    reading: bool = False

    def __str__(self) -> str:
        return str(self.path)

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return (sqlite3.Error,)

    @property
    def exists(self) -> bool:
        return self.path.exists()

    def connect(self, tables: Sequence[KeyValueTable]) -> SqliteConnection:
        """Open the file, which is made with its folder if it is missing. Raises StoreError or sqlite3.Error."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self.path.exists():
                _begin(Path(os.path.realpath(self.path)), tables)
        except OSError as error:
            raise StoreError(f"{self.path} {REMEDIES[sqlite3.SQLITE_CANTOPEN]} ({error.strerror}).") from error
        refuse_what_is_none(self.path)
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, factory=SqliteConnection)
        try:
            _use_wal(connection)
            connection.execute("PRAGMA synchronous = FULL")
            for table in tables:
                _create(connection, table)
        except sqlite3.Error as error:
            connection.close()
            if self.reading and error.sqlite_errorcode & PRIMARY_CODE in NOT_WRITABLE:
                return self._connect_to_read(tables)
            raise
        return connection

    def _connect_to_read(self, tables: Sequence[KeyValueTable]) -> SqliteConnection:
        connection = connect_to_read(self.path.absolute())
        try:
            missing = [table.name for table in tables if not _exists(connection, table)]
        except sqlite3.Error:
            connection.close()
            raise
        if missing:
            connection.close()
            raise StoreError(f"{self.path} lacks the table {missing[0]}, and {REMEDIES[sqlite3.SQLITE_READONLY]}.")
        return connection

    def diagnose(self, error: Exception) -> str | None:
        """SQLite's error code as one sentence: what, where, what to do."""
        code = getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE
        return f"{self.path} {REMEDIES[code]} ({error})." if code in REMEDIES else None

    def is_disconnect(self, error: Exception) -> bool:
        """Never: a file has no connection to lose."""
        return False

    def locked(self) -> AbstractAsyncContextManager[object]:
        """A lock file beside the file."""
        # Never a lock that is only a file: a killed process would leave it behind, and everyone would wait for ever.
        return AsyncFileLock(f"{self.path}.lock", fallback_to_soft=False)

    def claims(self, run: RunJob) -> FileClaims:
        """Claims in a file beside the file. Raises StoreError."""
        path = self.path.with_name(f"{self.path.name}.claims").absolute()
        try:
            return _CLAIMS.get(path) or _CLAIMS.setdefault(path, FileClaims(path))
        except OSError as error:
            raise StoreError(f"{path} {REMEDIES[sqlite3.SQLITE_CANTOPEN]} ({error.strerror}).") from error

    def size(self) -> int:
        """The file with its neighbours, in bytes."""
        return sum(file.stat().st_size for file in self.path.parent.glob(f"{self.path.name}*") if file.exists())


def connect_to_read(path: Path, *, without_log: bool = False) -> SqliteConnection:
    """Connect without changing anything, also on a disk where SQLite cannot put its file of locks beside it.

    What was committed last may lie in a log beside the file, which only such a file opens; `without_log`: leave that out then.
    """
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None, factory=SqliteConnection)
    try:
        connection.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.Error as error:
        log = path.with_name(f"{path.name}-wal")
        if error.sqlite_errorcode in NO_FILE_OF_LOCKS and (without_log or not log.exists() or not log.stat().st_size):
            connection.close()
            return sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True, isolation_level=None, factory=SqliteConnection)
    return connection


def _begin(path: Path, tables: Sequence[KeyValueTable]) -> None:
    """Make the file, whole from the moment it is there: one without bytes is always damage, and never a kill at this moment."""
    lock = Path(f"{path}.begin")
    with FileLock(lock, fallback_to_soft=False):
        if not path.exists():
            draft = Path(f"{path}.draft")
            # A log of a file that was deleted would be read into this one.
            for old in (draft, Path(f"{path}-wal"), Path(f"{path}-shm")):
                old.unlink(missing_ok=True)
            with closing(sqlite3.connect(draft, isolation_level=None, factory=SqliteConnection)) as connection:
                for table in tables:
                    _create(connection, table)
            draft.replace(path)
        lock.unlink(missing_ok=True)


def refuse_what_is_none(path: Path) -> None:
    """Raise StoreError where this can be no database. SQLite itself would begin anew in an empty file, without a word."""
    reason = obstacle(path)
    if reason:
        raise StoreError(f"{path} {reason}; {REPLACE}.")
    if not os.access(path, os.R_OK):
        raise StoreError(f"{path} {REMEDIES[sqlite3.SQLITE_PERM]} ({os.strerror(errno.EACCES)}).")


def obstacle(path: Path) -> str:
    """Say what is there in place of a database; "" where it may be one."""
    # Without opening it: closing a file gives up the locks that this process has on it, also those of SQLite.
    try:
        size = path.stat().st_size
    except OSError as error:
        return f"cannot be opened ({error.strerror})"
    if path.is_dir():
        return "is a folder in the place of a database"
    if size < HEADER_BYTES:
        return f"has {counted(size, 'byte')}, which no database has: it was cut off"
    return ""


def damage_of(path: Path) -> str:
    """Say what is wrong with a SQLite file, of which all is read; "" where nothing is."""
    try:
        reason = obstacle(path)
        if reason:
            return reason
        with closing(connect_to_read(path, without_log=True)) as connection:
            (state,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    except (OSError, sqlite3.Error) as error:
        state = str(error)
    return "" if state == "ok" else f"is damaged ({' '.join(str(state).split())})"


def _create(connection: SqliteConnection, table: KeyValueTable) -> None:
    # Looked for first, because making it takes the write lock also where it is there.
    if _exists(connection, table):
        return
    columns = ["key TEXT PRIMARY KEY", "value BLOB NOT NULL"]
    for name, kind in table.columns.items():
        columns.append(f"{name} {kind}")
    with connection.writing():
        connection.execute(f'CREATE TABLE IF NOT EXISTS "{table.name}" ({", ".join(columns)})')


def _exists(connection: SqliteConnection, table: KeyValueTable) -> bool:
    query = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
    return connection.execute(query, (table.name,)).fetchone()[0] > 0


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
