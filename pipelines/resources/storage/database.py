"""Where the tables of an installation lie: a SQLite file each, or the Postgres that all workers of a cluster share."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

VARIABLE = "AMEMGYM_DATABASE"


class StoreError(OSError):
    """The database cannot be used; one sentence names it and says what to do."""


@dataclass(frozen=True)
class Table:
    """Values by key. `columns` are further ones: name to type (TEXT, INTEGER or REAL)."""

    name: str
    columns: Mapping[str, str] = field(default_factory=dict[str, str])


class Cursor(Protocol):
    """The rows of a query."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def fetchmany(self, size: int | None = ..., /) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A connection that commits each statement at once, unless it is `writing`. Parameters stand as question marks.

    Each table has a column `rowid` that grows in the order of commits.
    """

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Cursor: ...

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]], /) -> Any: ...

    def writing(self) -> AbstractContextManager[None]:
        """A transaction that overlaps with no other in the same database."""
        ...

    def close(self) -> None: ...


class Database(Protocol):
    """Opens connections for one thread each, and knows what its errors mean."""

    @property
    def errors(self) -> tuple[type[Exception], ...]: ...

    @property
    def exists(self) -> bool: ...

    def connect(self, tables: Sequence[Table]) -> Connection:
        """Connect, and make the tables or the columns that are missing."""
        ...

    def diagnose(self, error: Exception) -> str | None:
        """What is wrong with the database and what to do, in one sentence; None when the mistake is the caller's."""
        ...

    def lost(self, error: Exception) -> bool:
        """Whether the connection has ended while the database may well be there."""
        ...

    def locked(self) -> AbstractAsyncContextManager[object]:
        """Only one process at a time may be inside; one that dies lets the next one in."""
        ...

    def size(self) -> int:
        """Bytes on the disk."""
        ...


def shared_database() -> str:
    """The address of the database that all workers share; empty where there is none."""
    return os.environ.get(VARIABLE, "").strip()


def database_of(path: Path) -> Database:
    """Where the tables of this file of the installation are: in the database of AMEMGYM_DATABASE, else in the file.

    Raises StoreError when the variable does not name a Postgres, or its driver is not installed.
    """
    url = shared_database()
    if url:
        # Imported only where it is used: the driver belongs to the extra `cluster`.
        from pipelines.cluster.postgres import open_postgres

        return open_postgres(url, schema=f"amemgym_{path.stem}")
    from pipelines.resources.storage.sqlite import SqliteFile

    return SqliteFile(path)
