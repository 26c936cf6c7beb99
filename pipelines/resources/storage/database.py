"""The port of a database: key-value tables, in a SQLite file or in the Postgres that all workers share."""

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

VARIABLE = "AMEMGYM_DATABASE"


@dataclass(frozen=True)
class KeyValueTable:
    """A table with the columns `key` and `value`. `columns`: further columns, name to type (TEXT, INTEGER or REAL)."""

    name: str
    columns: Mapping[str, str] = field(default_factory=dict[str, str])


class Cursor(Protocol):
    """The result of a statement, as in the Python database API (PEP 249)."""

    @property
    def rowcount(self) -> int: ...

    def fetchone(self) -> Any: ...

    def fetchall(self) -> list[Any]: ...

    def __iter__(self) -> Iterator[Any]: ...


class Connection(Protocol):
    """A connection that commits each statement immediately, except in a `writing` block. Parameters are question marks.

    Each table has a column `rowid` that grows in commit order.
    """

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> Cursor: ...

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]], /) -> Any: ...

    def writing(self) -> AbstractContextManager[None]:
        """Return a transaction. In one database, `writing` blocks run one at a time."""
        ...

    def close(self) -> None: ...


class Claims(Protocol):
    """Exclusive claims of keys (hex digits) across processes. A claim ends when its process ends or is killed."""

    async def take(self, key: str) -> bool:
        """Claim the key if it is free. Return whether the claim succeeded."""
        ...

    async def release(self, key: str) -> None: ...


def place_of(key: str) -> int:
    """Return a number for the key, for locks that accept only numbers."""
    return int(key[:15], 16)


# Calls a job with a connection. The connection stays the same until it is lost.
RunJob = Callable[[Callable[[Connection], Any]], Awaitable[Any]]


class Database(Protocol):
    """Opens connections, each for one thread, and explains their errors."""

    @property
    def errors(self) -> tuple[type[Exception], ...]: ...

    @property
    def exists(self) -> bool: ...

    def connect(self, tables: Sequence[KeyValueTable]) -> Connection:
        """Connect, and create missing tables and columns."""
        ...

    def diagnose(self, error: Exception) -> str | None:
        """Return one sentence: what is wrong with the database and what to do. None if the error is the caller's fault."""
        ...

    def is_disconnect(self, error: Exception) -> bool:
        """Return whether the error means a lost connection, after which connecting again may succeed."""
        ...

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Return a lock that one process at a time can hold. It is released when its process dies."""
        ...

    def claims(self, run: RunJob) -> Claims:
        """Return the claims that all users of this database share. `run`: runs a job on the caller's connection."""
        ...

    def size(self) -> int: ...
