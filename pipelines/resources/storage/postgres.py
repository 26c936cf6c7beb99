"""The tables of an installation in a Postgres, where the workers of a cluster share them."""

import asyncio
import threading
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from assets.llm.async_calls import shielded
from pipelines.errors import StoreError
from pipelines.resources.storage.database import VARIABLE, Connection, Cursor, KeyValueTable, RunJob, place_of

try:
    import psycopg2
    from psycopg2 import extensions, extras
except ModuleNotFoundError as error:
    raise StoreError(f"{VARIABLE} is set, but the Postgres driver is missing; install the extra `cluster`.") from error

SCHEMES = ("postgresql+psycopg2://", "postgresql://")
TYPES = {"TEXT": "TEXT", "INTEGER": "BIGINT", "REAL": "DOUBLE PRECISION"}
# A worker whose machine vanished without a word is given up after a minute, with whatever it held; and so is a server.
SERVER_KEEPALIVES = "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
CONNECT_OPTIONS = "connect_timeout=10 keepalives_idle=30 keepalives_interval=10 keepalives_count=3 tcp_user_timeout=60000"
POLL_SECONDS = 0.2
BYTEA = 17
NUMERIC = 1700


class PostgresConnection:
    """The Connection port. Statements are the ones that SQLite takes too, with question marks for parameters."""

    def __init__(self, raw: extensions.connection, *, schema: str) -> None:
        self._raw = raw
        self._schema = schema

    def execute(self, sql: str, parameters: Sequence[Any] = (), /) -> Cursor:
        cursor = self._raw.cursor()
        cursor.execute(_to_format_style(sql), [_to_sql(value) for value in parameters])
        return cursor

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]], /) -> None:
        with self._raw.cursor() as cursor:
            batches: Any = extras  # has no types
            batches.execute_batch(cursor, _to_format_style(sql), [[_to_sql(value) for value in row] for row in rows])

    @contextmanager
    def writing(self) -> Generator[None]:
        """One writer per schema at a time: ids are committed in order, and equal keys meet no deadlock."""
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
    """The Claims port for all who use a database: locks of a session, which the server drops with it.

    A session's locks do not hold within it, so that its own claims are a set. Where a connection is lost, its claims are too.
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
            if taken is None:  # cancelled, and the server may have granted it all the same
                await shielded(self.release(key))
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
    """The Database port over one schema. `dsn` may hold a password and is in no message; its own timeouts win."""

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
        with self._connected() as connection:
            return connection.execute("SELECT to_regnamespace(?)", (self.schema,)).fetchone()[0] is not None

    def connect(self, tables: Sequence[KeyValueTable]) -> PostgresConnection:
        """Connect; schema and tables are made where they are missing. Raises psycopg2.Error."""
        options = f"{SERVER_KEEPALIVES} -c search_path={self.schema}"
        words: dict[str, Any] = {**extensions.parse_dsn(self.dsn), "options": options, "application_name": "amemgym"}
        raw = psycopg2.connect(CONNECT_OPTIONS, **words)
        raw.autocommit = True
        for number, name, cast in ((BYTEA, "BYTES", _as_bytes), (NUMERIC, "FLOAT", _as_float)):
            types: Any = extensions  # has no complete types
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
        """Whatever is not a mistake in a statement: the server's own words, and where it was looked for."""
        if isinstance(error, psycopg2.ProgrammingError) and not _access_denied(error):
            return None
        words = " ".join(str(error).split()) or type(error).__name__
        return f"The database {self._address} cannot be used ({words}); mend it or correct {VARIABLE}, and run again."

    def is_disconnect(self, error: Exception) -> bool:
        """Return True when the server hung up or is not back yet, as when it restarts: no code then, or one of these."""
        gone = isinstance(error, (psycopg2.OperationalError, psycopg2.InterfaceError))
        code: str = getattr(error, "pgcode", None) or ""
        return gone and (not code or code.startswith(("08", "57P")))

    def locked(self) -> AbstractAsyncContextManager[object]:
        """A lock of a session, which the server drops with the session."""
        return self._locked()

    def claims(self, run: RunJob) -> SessionClaims:
        return SessionClaims(run)

    def size(self) -> int:
        """The tables of the schema with their indexes, in bytes."""
        query = "SELECT COALESCE(SUM(pg_total_relation_size(oid)), 0) FROM pg_class WHERE relnamespace = to_regnamespace(?)"
        with self._connected() as connection:
            return int(connection.execute(f"{query} AND relkind = 'r'", (self.schema,)).fetchone()[0])

    @asynccontextmanager
    async def _locked(self) -> AsyncGenerator[None]:
        with self._connected() as connection:
            query = "SELECT pg_try_advisory_lock(hashtext(?))"
            while not connection.execute(query, (f"{self.schema} locked",)).fetchone()[0]:  # noqa: ASYNC110 (Postgres sends no notice)
                await asyncio.sleep(POLL_SECONDS)
            yield

    @contextmanager
    def _connected(self) -> Generator[PostgresConnection]:
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
    """The database of an address. Raises StoreError when it is none of a Postgres, without its words: they may be secret."""
    scheme = next((scheme for scheme in SCHEMES if url.startswith(scheme)), None)
    rest = url.removeprefix(scheme or "")
    user, at, place = rest.partition("@")
    if scheme and ("@" in place or (at and "/" in user)):  # the driver would take the rest of a password for a host
        raise StoreError(f"{VARIABLE} cannot be read as an address; in a password write %40 for @ and %2F for /.")
    try:
        parts = extensions.parse_dsn(f"postgresql://{rest}") if scheme else {}
    except psycopg2.ProgrammingError:
        parts = {}  # its words repeat the address
    if not parts or not parts.get("port", "5432").replace(",", "").isdigit():
        raise StoreError(f"{VARIABLE} must be an address such as postgresql+psycopg2://user:password@host:5432/database.")
    return Postgres(f"postgresql://{rest}", schema)


def _to_format_style(sql: str) -> str:
    return sql.replace("%", "%%").replace("?", "%s")


def _to_sql(value: object) -> object:
    """SQLite has no truth values, so tables that serve both hold 0 and 1."""
    return int(value) if isinstance(value, bool) else value


def _as_bytes(value: Any, cursor: Any) -> bytes | None:
    return None if value is None else bytes(psycopg2.BINARY(value, cursor))


def _as_float(value: Any, cursor: Any) -> float | None:
    return None if value is None else float(value)


def _access_denied(error: psycopg2.Error) -> bool:
    return error.pgcode in ("42501", "3D000")  # insufficient privilege, no such database
