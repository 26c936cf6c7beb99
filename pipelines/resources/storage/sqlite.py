"""Key-value tables in one SQLite file. Several processes of one machine can use it, and kills do not damage it."""

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
HEADER_BYTES = 100  # SQLite treats a shorter file as a new database
SALVAGE = "amemgym doctor --repair copies its readable rows into a new file"
REPLACE = "amemgym doctor --repair sets it aside, and a new, empty one is created"
NOT_WRITABLE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_CANTOPEN)
# SQLite cannot create its -shm file: the folder is not writable, or the disk is full. The database itself may be intact.
NO_SHM_FILE = (
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR_SHMOPEN,
    sqlite3.SQLITE_IOERR_SHMSIZE,
    sqlite3.SQLITE_IOERR_SHMMAP,
)
REMEDIES = {
    sqlite3.SQLITE_CORRUPT: f"is damaged; {SALVAGE}",
    sqlite3.SQLITE_NOTADB: f"is not a SQLite database; {REPLACE}",
    sqlite3.SQLITE_FULL: "cannot grow because the disk is full; make room and run again; stored rows are kept",
    sqlite3.SQLITE_READONLY: "cannot be written; make the file and its folder writable, or choose another place",
    sqlite3.SQLITE_PERM: "cannot be opened; make the file and its folder writable, or choose another place",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; make the file and its folder writable, or choose another place",
    sqlite3.SQLITE_IOERR: "cannot be read or written; check the disk, and keep the file on a local one",
    sqlite3.SQLITE_PROTOCOL: "cannot be locked; keep the file on a local disk, not on a network drive",
    sqlite3.SQLITE_BUSY: "is held by another process; end that process, or wait for it, and run again",
}


class SqliteConnection(sqlite3.Connection):
    """The Connection port as a subclass of sqlite3.Connection, so statements pass through no extra layer.

    Bytes that are not UTF-8 are read as replacement characters, because a decoding error would not say which row is damaged.
    The row's digest then does not match.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.text_factory = partial(str, encoding="utf-8", errors="replace")

    @contextmanager
    def writing(self) -> Generator[None]:
        """Return a transaction that takes the file's write lock at its start."""
        with self:
            self.execute("BEGIN IMMEDIATE")
            yield


class FileClaims:
    """The Claims port for the processes of one machine. A claim is a lock on one byte of a file, and ends with its process.

    A process is never blocked by its own locks, so its claims are also kept in a set. There is one object per file, and the
    file is never closed, because closing any handle of the file releases all locks of the process.
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

    `reading`: nothing will be written, so a read-only file or folder is accepted.
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
        """Open the file; create it and its folder if missing. Raises StoreError or sqlite3.Error."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            if not self.path.exists():
                _begin(Path(os.path.realpath(self.path)), tables)
        except OSError as error:
            raise StoreError(f"{self.path} {REMEDIES[sqlite3.SQLITE_CANTOPEN]} ({error.strerror}).") from error
        check_is_database(self.path)
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
        """Return one sentence for SQLite's error code: where, what is wrong, what to do. None for an unknown code."""
        code = getattr(error, "sqlite_errorcode", 0) & PRIMARY_CODE
        return f"{self.path} {REMEDIES[code]} ({error})." if code in REMEDIES else None

    def is_disconnect(self, error: Exception) -> bool:
        """Return False: a connection to a file cannot be lost."""
        return False

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Return a lock on a file beside the database."""
        # No fallback to a plain lock file: a killed process would leave it, and all others would wait forever.
        return AsyncFileLock(f"{self.path}.lock", fallback_to_soft=False)

    def claims(self, run: RunJob) -> FileClaims:
        """Return the claims that are locks in a file beside the database. Raises StoreError."""
        path = self.path.with_name(f"{self.path.name}.claims").absolute()
        try:
            return _CLAIMS.get(path) or _CLAIMS.setdefault(path, FileClaims(path))
        except OSError as error:
            raise StoreError(f"{path} {REMEDIES[sqlite3.SQLITE_CANTOPEN]} ({error.strerror}).") from error

    def size(self) -> int:
        """Return the size of the database and the files beside it with its name, in bytes."""
        return sum(file.stat().st_size for file in self.path.parent.glob(f"{self.path.name}*") if file.exists())


def connect_to_read(path: Path, *, without_log: bool = False) -> SqliteConnection:
    """Connect for reading only. This also works where SQLite cannot create its -shm file beside the database.

    Without a -shm file, SQLite cannot read the -wal file, which may hold the latest commits. `without_log`: connect anyway, and
    do without those commits.
    """
    connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None, factory=SqliteConnection)
    try:
        connection.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.Error as error:
        log = path.with_name(f"{path.name}-wal")
        if error.sqlite_errorcode in NO_SHM_FILE and (without_log or not log.exists() or not log.stat().st_size):
            connection.close()
            return sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True, isolation_level=None, factory=SqliteConnection)
    return connection


def _begin(path: Path, tables: Sequence[KeyValueTable]) -> None:
    """Create the file under its name only when it is complete. So an empty file is always damage, never a killed creation."""
    lock = Path(f"{path}.begin")
    with FileLock(lock, fallback_to_soft=False):
        if not path.exists():
            draft = Path(f"{path}.draft")
            # The log of a deleted database would be applied to the new one.
            for old in (draft, Path(f"{path}-wal"), Path(f"{path}-shm")):
                old.unlink(missing_ok=True)
            with closing(sqlite3.connect(draft, isolation_level=None, factory=SqliteConnection)) as connection:
                for table in tables:
                    _create(connection, table)
            draft.replace(path)
        lock.unlink(missing_ok=True)


def check_is_database(path: Path) -> None:
    """Raise StoreError if this cannot be a database. SQLite would silently start a new database in an empty file."""
    reason = obstacle(path)
    if reason:
        raise StoreError(f"{path} {reason}; {REPLACE}.")
    if not os.access(path, os.R_OK):
        raise StoreError(f"{path} {REMEDIES[sqlite3.SQLITE_PERM]} ({os.strerror(errno.EACCES)}).")


def obstacle(path: Path) -> str:
    """Return why the path cannot be a database, as the end of a sentence; "" if it may be one."""
    # The file is not opened, because closing it would release all locks that this process holds on it, SQLite's included.
    try:
        size = path.stat().st_size
    except OSError as error:
        return f"cannot be opened ({error.strerror})"
    if path.is_dir():
        return "is a folder, not a database"
    if size < HEADER_BYTES:
        return f"has only {counted(size, 'byte')}, too few for a database: it was cut off"
    return ""


def damage_of(path: Path) -> str:
    """Read a whole SQLite file, and return what is wrong with it, as the end of a sentence; "" if it is intact."""
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
    # Check first, because CREATE TABLE IF NOT EXISTS takes the write lock even if the table exists.
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
    """Turn write-ahead logging on. If another process does so at the same time, SQLite does not wait, so this retries."""
    give_up = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & PRIMARY_CODE != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.05)
