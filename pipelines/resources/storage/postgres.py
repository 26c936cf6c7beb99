"""Key-value tables in Postgres, which all workers of a cluster share."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import psycopg2
from psycopg2 import extensions, extras

from assets.llm.async_calls import shield_call
from pipelines.errors import StoreError
from pipelines.resources.storage.database import VARIABLE, Connection, Cursor, KeyValueTable, RunJob, place_of

SCHEMES = ("postgresql+psycopg2://", "postgresql://")
TYPES = {"TEXT": "TEXT", "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION"}
# If a worker's machine disappears, the server drops its session and locks after a minute. Workers drop a lost server likewise.
SERVER_KEEPALIVES = "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
CONNECT_OPTIONS = "connect_timeout=10 keepalives_idle=30 keepalives_interval=10 keepalives_count=3 tcp_user_timeout=60000"
POLL_SECONDS = 0.2
BYTEA = 17
NUMERIC = 1700


class PostgresConnection:
    """The Connection port. It takes the same SQL as SQLite, with question marks for parameters."""

    def __init__(self, raw: extensions.connection, *, schema: str) -> None:
        self._raw = raw
        self._schema = schema

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Cursor:
        cursor = self._raw.cursor()
        cursor.execute(_to_format_style(sql), [_to_sql(value) for value in parameters])
        return cursor

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]], /) -> None:
        with self._raw.cursor() as cursor:
            batches: Any = extras  # the module has no types
            batches.execute_batch(cursor, _to_format_style(sql), [[_to_sql(value) for value in row] for row in rows])

    @contextmanager
    def writing(self) -> Generator[None]:
        """Lock the schema for one writer at a time, so that ids are committed in order and equal keys cannot deadlock."""
        self.execute("BEGIN")
        with ExitStack() as unless_done:
            unless_done.callback(self._roll_back)
            self.execute("SELECT pg_advisory_xact_lock(hashtext(?))", (self._schema,))
            yield
            unless_done.pop_all()
        self.execute("COMMIT")

    def _roll_back(self) -> None:
        with suppress(psycopg2.Error):
            self.execute("ROLLBACK")

    def close(self) -> None:
        self._raw.close()


class SessionClaims:
    """The Claims port for all users of a database. A claim is a session lock, which the server drops when the session ends.

    A session is never blocked by its own locks, so its claims are also kept in a set. A lost connection loses its claims.
    """

    def __init__(self, run: RunJob) -> None:
        self._run = run
        self._own: set[str] = set()
        self._lock = threading.Lock()

    async def take(self, key: str) -> bool:
        with self._lock:
            if key in self._own:
                return False
            self._own.add(key)
        taken: bool | None = None
        try:
            taken = await self._run(partial(_ask_for, "pg_try_advisory_lock", key))
        finally:
            if taken is None:  # cancelled, but the server may have granted the lock
                await shield_call(self.release(key))
            elif not taken:
                self._forget(key)
        return bool(taken)

    async def release(self, key: str) -> None:
        try:
            await self._run(partial(_ask_for, "pg_advisory_unlock", key))
        finally:
            self._forget(key)

    def _forget(self, key: str) -> None:
        with self._lock:
            self._own.discard(key)


def _ask_for(function: str, key: str, connection: Connection) -> bool:
    return connection.execute(f"SELECT {function}(?)", (place_of(key),)).fetchone()[0]


@dataclass(frozen=True)
class Postgres:
    """The Database port over one schema. `dsn` may contain a password, so no message shows it. Its timeouts override ours."""

    dsn: str = field(repr=False)
    schema: str

    def __str__(self) -> str:
        return f"{self._address} ({self.schema})"

    @cached_property
    def _address(self) -> str:
        parts = extensions.parse_dsn(self.dsn)
        return f"postgresql://{parts.get('host', 'localhost')}:{parts.get('port', '5432')}/{parts.get('dbname', '')}"

    @property
    def errors(self) -> tuple[type[Exception], ...]:
        return (psycopg2.Error,)

    @property
    def exists(self) -> bool:
        with self._connect() as connection:
            return connection.execute("SELECT to_regnamespace(?)", (self.schema,)).fetchone()[0] is not None

    def connect(self, tables: Sequence[KeyValueTable]) -> PostgresConnection:
        """Connect, and create the schema and tables if they are missing. Raises psycopg2.Error."""
        options = f"{SERVER_KEEPALIVES} -c search_path={self.schema}"
        parameters: dict[str, Any] = {**extensions.parse_dsn(self.dsn), "options": options, "application_name": "amemgym"}
        raw = psycopg2.connect(CONNECT_OPTIONS, **parameters)
        raw.autocommit = True
        for number, name, cast in ((BYTEA, "BYTES", _as_bytes), (NUMERIC, "FLOAT", _as_float)):
            types: Any = extensions  # its types are incomplete
            types.register_type(types.new_type((number,), name, cast), raw)
        connection = PostgresConnection(raw, schema=self.schema)
        try:
            for table in tables:
                self._create(connection, table)
        except psycopg2.Error:
            raw.close()
            raise
        return connection

    def diagnose(self, error: Exception) -> str | None:
        """Return the server's message and address in one sentence; None for a mistake in a statement."""
        if isinstance(error, psycopg2.ProgrammingError) and not _access_denied(error):
            return None
        words = " ".join(str(error).split()) or type(error).__name__
        return f"The database {self._address} cannot be used ({words}); repair it or correct {VARIABLE}, and run again."

    def is_disconnect(self, error: Exception) -> bool:
        """Return whether the server closed the connection or is not available yet, as during a restart."""
        failed = isinstance(error, (psycopg2.OperationalError, psycopg2.InterfaceError))
        code: str = getattr(error, "pgcode", None) or ""
        return failed and (not code or code.startswith(("08", "57P")))  # connection exception, operator intervention

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Return a session lock, which the server releases when the session ends."""
        return self._hold_lock()

    def claims(self, run: RunJob) -> SessionClaims:
        return SessionClaims(run)

    def size(self) -> int:
        """Return the size of the schema's tables with their indexes, in bytes."""
        query = "SELECT COALESCE(SUM(pg_total_relation_size(oid)), 0) FROM pg_class WHERE relnamespace = to_regnamespace(?)"
        with self._connect() as connection:
            return int(connection.execute(f"{query} AND relkind = 'r'", (self.schema,)).fetchone()[0])

    @asynccontextmanager
    async def _hold_lock(self) -> AsyncGenerator[None]:
        with self._connect() as connection:
            query = "SELECT pg_try_advisory_lock(hashtext(?))"
            while not connection.execute(query, (f"{self.schema} locked",)).fetchone()[0]:  # noqa: ASYNC110 (Postgres sends no notice)
                await asyncio.sleep(POLL_SECONDS)
            yield

    @contextmanager
    def _connect(self) -> Generator[PostgresConnection]:
        try:
            with closing(self.connect([])) as connection:
                yield connection
        except psycopg2.Error as error:
            sentence = self.diagnose(error)
            if sentence is None:
                raise
            raise StoreError(sentence) from error

    def _create(self, connection: PostgresConnection, table: KeyValueTable) -> None:
        query = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ? AND table_name = ?"
        if connection.execute(query, (self.schema, table.name)).fetchone()[0]:
            return
        columns = ["key TEXT PRIMARY KEY", "value BYTEA NOT NULL", "rowid BIGSERIAL UNIQUE"]
        for name, kind in table.columns.items():
            columns.append(f"{name} {TYPES[kind]}")
        with connection.writing():
            connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')
            connection.execute(f'CREATE TABLE IF NOT EXISTS "{table.name}" ({", ".join(columns)})')


def open_postgres(url: str, *, schema: str) -> Postgres:
    """Return the database of an address. Raises StoreError for a bad address, without repeating it: it may hold a password."""
    scheme = next((scheme for scheme in SCHEMES if url.startswith(scheme)), None)
    rest = url.removeprefix(scheme or "")
    user, at, place = rest.partition("@")
    if scheme and ("@" in place or (at and "/" in user)):  # the driver would read part of a password as the host
        raise StoreError(f"{VARIABLE} cannot be read as an address; in a password write %40 for @ and %2F for /.")
    try:
        parts = extensions.parse_dsn(f"postgresql://{rest}") if scheme else {}
    except psycopg2.ProgrammingError:
        parts = {}  # the error's message repeats the address
    if not parts or not parts.get("port", "5432").replace(",", "").isdigit():
        raise StoreError(f"{VARIABLE} must be an address such as postgresql+psycopg2://user:password@host:5432/database.")
    return Postgres(f"postgresql://{rest}", schema)


def _to_format_style(sql: str) -> str:
    return sql.replace("%", "%%").replace("?", "%s")


def _to_sql(value: object) -> object:
    """Return booleans as 0 and 1, because SQLite has no booleans and both databases use the same tables."""
    return int(value) if isinstance(value, bool) else value


def _as_bytes(value: Any, cursor: Any) -> bytes | None:
    return None if value is None else bytes(psycopg2.BINARY(value, cursor))


def _as_float(value: Any, cursor: Any) -> float | None:
    return None if value is None else float(value)


def _access_denied(error: psycopg2.Error) -> bool:
    return error.pgcode in ("42501", "3D000")  # insufficient privilege, no such database
