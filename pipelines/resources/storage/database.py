"""The port of a database: tables of values by key, in a SQLite file or in the Postgres that all workers share."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

VARIABLE = "AMEMGYM_DATABASE"


@dataclass(frozen=True)
class KeyValueTable:
    """Values by key. `columns` are further ones: name to type (TEXT, INTEGER or REAL)."""

    name: str
    columns: Mapping[str, str] = field(default_factory=dict[str, str])


class Cursor(Protocol):
    """The result of a statement, as in the Python database API."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def fetchmany(self, size: int | None = ..., /) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A connection that commits each statement at once, except in a `writing` block. Parameters are question marks.

    Each table has a column `rowid` that grows in the order of commits.
    """

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Cursor: ...

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]], /) -> Any: ...

    def writing(self) -> AbstractContextManager[None]:
        """A transaction that overlaps with no other in the same database."""
        ...

    def close(self) -> None: ...


class Claims(Protocol):
    """Claims of keys (hex digits) across processes. A claim ends with its process, however that ends."""

    async def take(self, key: str) -> bool:
        """Claim the key, unless somebody has; whether it is ours now."""
        ...

    async def release(self, key: str) -> None: ...


def place_of(key: str) -> int:
    """The number of a key, where only numbers can be locked."""
    return int(key[:15], 16)


# Calls a job with a connection that stays the same, as long as it is not lost.
RunJob = Callable[[Callable[[Connection], Any]], Awaitable[Any]]


class Database(Protocol):
    """Opens connections for one thread each, and knows what its errors mean."""

    @property
    def errors(self) -> tuple[type[Exception], ...]: ...

    @property
    def exists(self) -> bool: ...

    def connect(self, tables: Sequence[KeyValueTable]) -> Connection:
        """Connect, and make the tables or the columns that are missing."""
        ...

    def diagnose(self, error: Exception) -> str | None:
        """Return one sentence on what is wrong with the database and what to do; None when the mistake is the caller's."""
        ...

    def is_disconnect(self, error: Exception) -> bool:
        """Return True when the connection was lost while the database may well be there."""
        ...

    def locked(self) -> AbstractAsyncContextManager[object]:
        """Only one process at a time may be inside; one that dies lets the next one in."""
        ...

    def claims(self, run: RunJob) -> Claims:
        """Claims by all who use this database; `run` is the way to a connection of one's own."""
        ...

    def size(self) -> int: ...
