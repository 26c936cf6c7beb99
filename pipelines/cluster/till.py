"""What a variant has spent and has under way, over all workers."""

import asyncio
import uuid
import weakref
from contextlib import suppress
from functools import partial

from pipelines.resources.ledger.budget import Allowed
from pipelines.resources.ledger.ledger import Ledger, Spent, spent_so_far
from pipelines.resources.storage.database import Connection
from pipelines.resources.storage.key_value import KeyedStore

COLUMNS = {"variant": "TEXT", "holder": "INTEGER", "calls": "INTEGER"}
LOCKS = 4202  # the class of advisory locks that stand for living sessions
LOOK_SECONDS = 0.2
# A number of a session is given again: a row of ours with another key is left over from a dead one.
FORGET_DEAD = (
    f"DELETE FROM under_way WHERE key <> ? AND (holder = ? OR pg_try_advisory_xact_lock({LOCKS}, CAST(holder AS INTEGER)))"
)
ELSEWHERE = "SELECT COALESCE(SUM(calls), 0) FROM under_way WHERE variant = ? AND key <> ?"
KEEP = (
    "INSERT INTO under_way (key, value, variant, holder, calls) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, calls = excluded.calls"
)


class SharedTill:
    """The Till port in the ledger's schema: counting and entering are one transaction, which ledger rows wait for too."""

    def __init__(self, ledger: Ledger, *, variant: str) -> None:
        self.under_way = 0  # changed in the store's thread alone
        self._ledger, self._variant, self._name = ledger, variant, uuid.uuid4().hex
        self._store = KeyedStore(ledger.calls.database, table="under_way", columns=COLUMNS)
        self._spent = Spent()
        self._came_home = asyncio.Event()
        weakref.finalize(self, self._store.close)

    async def enter(self, allowed: Allowed) -> tuple[bool, Spent]:
        """Begin a call if it is allowed in view of all workers. Raises StoreError."""
        if not self._spent.upto:
            await self._ledger.calls.run(_nothing)  # makes the ledger's table if this is its very first use
        entered, spent = await self._store.run(partial(self._enter, allowed=allowed))
        self._spent = max(self._spent, spent, key=lambda each: each.upto)
        return entered, spent

    async def leave(self) -> None:
        """A call has ended. Raises StoreError."""
        await self._store.run(self._leave)
        self._came_home.set()
        self._came_home = asyncio.Event()

    async def changed(self) -> None:
        """Wait until a call from here has ended, or for a moment, in which one may have ended elsewhere."""
        with suppress(TimeoutError):
            async with asyncio.timeout(LOOK_SECONDS):
                await self._came_home.wait()

    def _enter(self, connection: Connection, *, allowed: Allowed) -> tuple[bool, Spent]:
        calls = self.under_way
        with connection.writing():
            connection.execute(FORGET_DEAD, (self._name, _session(connection)))
            elsewhere = int(connection.execute(ELSEWHERE, (self._variant, self._name)).fetchone()[0])
            spent = spent_so_far(connection, self._variant, before=self._spent)
            entered = allowed(spent, calls + elsewhere)
            if entered:
                self._note(connection, calls=calls + 1)
        self.under_way = calls + entered  # now that it holds: a transaction that got lost is made once more
        return entered, spent

    def _leave(self, connection: Connection) -> None:
        calls = self.under_way - 1
        self._note(connection, calls=calls)
        self.under_way = calls

    def _note(self, connection: Connection, *, calls: int) -> None:
        holder = _session(connection)
        connection.execute(f"SELECT pg_try_advisory_lock({LOCKS}, CAST(? AS INTEGER))", (holder,))
        connection.execute(KEEP, (self._name, b"", self._variant, holder, calls))


def _session(connection: Connection) -> int:
    return connection.execute("SELECT pg_backend_pid()").fetchone()[0]


def _nothing(connection: Connection) -> None:
    pass
