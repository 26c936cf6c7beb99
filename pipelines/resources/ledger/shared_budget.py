"""The sums and the calls under way of a variant, over all workers."""

import asyncio
import uuid
import weakref
from contextlib import suppress
from functools import partial

from pipelines.resources.ledger.budget import MayBegin
from pipelines.resources.ledger.ledger import Ledger, Spent, spent_so_far
from pipelines.resources.storage.database import Connection
from pipelines.resources.storage.key_value import KeyValueStore

COLUMNS = {"variant": "TEXT", "holder": "INTEGER", "calls": "INTEGER"}
LOCKS = 4202  # the class of advisory locks that stand for living sessions
POLL_SECONDS = 0.2
# A number of a session is given again: a row of ours with another key is left over from a dead one.
FORGET_DEAD = (
    f"DELETE FROM under_way WHERE key <> ? AND (holder = ? OR pg_try_advisory_xact_lock({LOCKS}, CAST(holder AS INTEGER)))"
)
ELSEWHERE = "SELECT COALESCE(SUM(calls), 0) FROM under_way WHERE variant = ? AND key <> ?"
KEEP = (
    "INSERT INTO under_way (key, value, variant, holder, calls) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT (key) DO UPDATE SET holder = excluded.holder, calls = excluded.calls"
)


class SharedBudgetCounter:
    """The BudgetCounter port in the ledger's schema: counting and beginning are one transaction, which ledger rows wait for."""

    def __init__(self, ledger: Ledger, *, variant: str) -> None:
        self.under_way = 0  # changed in the store's thread alone
        self._ledger = ledger
        self._variant = variant
        self._name = uuid.uuid4().hex
        self._store = KeyValueStore(ledger.calls.database, table="under_way", columns=COLUMNS)
        self._spent = Spent()
        self._call_ended = asyncio.Event()
        weakref.finalize(self, self._store.close)

    async def begin_call(self, may_begin: MayBegin) -> tuple[bool, Spent]:
        """Begin a call if it is allowed in view of all workers. Raises StoreError."""
        if not self._spent.upto:
            await self._ledger.calls.run(_nothing)  # makes the ledger's table if this is its very first use
        begun, spent = await self._store.run(partial(self._begin, may_begin=may_begin))
        self._spent = max(self._spent, spent, key=lambda each: each.upto)
        return begun, spent

    async def end_call(self) -> None:
        """A call has ended. Raises StoreError."""
        await self._store.run(self._end)
        self._call_ended.set()
        self._call_ended = asyncio.Event()

    async def wait_for_change(self) -> None:
        """Wait until a call from here has ended, or for a moment, in which one may have ended elsewhere."""
        with suppress(TimeoutError):
            async with asyncio.timeout(POLL_SECONDS):
                await self._call_ended.wait()

    def _begin(self, connection: Connection, *, may_begin: MayBegin) -> tuple[bool, Spent]:
        calls = self.under_way
        with connection.writing():
            connection.execute(FORGET_DEAD, (self._name, _session(connection)))
            elsewhere = int(connection.execute(ELSEWHERE, (self._variant, self._name)).fetchone()[0])
            spent = spent_so_far(connection, self._variant, before=self._spent)
            begun = may_begin(spent, calls + elsewhere)
            if begun:
                self._note(connection, calls=calls + 1)
        self.under_way = calls + begun  # now that it holds: a transaction that got lost is made once more
        return begun, spent

    def _end(self, connection: Connection) -> None:
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
