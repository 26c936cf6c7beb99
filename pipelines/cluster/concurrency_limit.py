"""One limit of calls in flight for all workers at an endpoint, kept in their database.

Each event loop holds some of the slots, and a thread of its own trades them twice a second: it takes what the others leave
free, and gives back what they need more. A call costs the database nothing, and at no moment are there more than the limit.

A claim lasts as long as its session: the server drops the session's lock when the worker ends, however it ends. What a dead
worker held stays held for a while, because the endpoint may still be busy with its calls.
"""

import asyncio
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from assets.llm.ports import EndpointError
from pipelines.cluster.postgres import PostgresConnection
from pipelines.cluster.rate_limiter import LIMITS, NOW
from pipelines.resources.llm.concurrency import FIRST_LIMIT, AimdLimit, ResizableSemaphore
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.database import KeyValueTable
from pipelines.resources.storage.open_database import open_database

SIZES = KeyValueTable("sizes", {"size": "INTEGER", "halvings": "INTEGER", "successes": "INTEGER"})
CLAIMS = KeyValueTable("claims", {"place": "TEXT", "held": "INTEGER", "wanted": "INTEGER", "died": "REAL"})
LOCKS = 4201  # the class of advisory locks that stand for living claims
LINGER_SECONDS = 10.0
ROTATION_SECONDS = 10.0
KEEP_SIZE = (
    "INSERT INTO sizes (key, value, size, halvings, successes) VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE "
    "SET size = excluded.size, halvings = excluded.halvings, successes = excluded.successes"
)
MARK_DEAD = (
    "UPDATE claims SET died = ? WHERE place = ? AND key <> ? AND died IS NULL "
    f"AND pg_try_advisory_xact_lock({LOCKS}, CAST(rowid AS INTEGER))"
)
TICK_SECONDS = 0.5
GIVE_UP_SECONDS = 60.0
CLOSING_SECONDS = 5.0


@dataclass
class WorkerReport:
    """What happened at one worker since its last report. `overloads`: numbers of overloaded calls."""

    wanted: int = 0
    successes: int = 0
    overloads: tuple[int, ...] = ()


@dataclass(frozen=True)
class Grant:
    """What a worker may have now, and the number for the calls that it acquires from now on."""

    slots: int
    halvings: int


class SlotClaim:
    """One worker's claim, over a connection of its own. All methods are for one thread. Raises the database's errors."""

    def __init__(self, connection: PostgresConnection, *, address: str, name: str, ceiling: int) -> None:
        self._connection, self._address, self._name, self._ceiling = connection, address, name, ceiling
        with connection.writing():
            insert = "INSERT INTO claims (key, value, place, held, wanted) VALUES (?, ?, ?, 0, 0) RETURNING rowid"
            rowid = connection.execute(insert, (name, b"", address)).fetchone()[0]
            connection.execute(f"SELECT pg_advisory_lock({LOCKS}, CAST(? AS INTEGER))", (rowid,))

    def adapt(self, report: WorkerReport) -> Grant:
        """Bring a report, and learn what share there is. It is not yet held: `hold` says what is."""
        with self._connection.writing():
            now: float = self._connection.execute(NOW).fetchone()[0]
            size = self._size(report)
            self._connection.execute(MARK_DEAD, (now, self._address, self._name))
            self._connection.execute("DELETE FROM claims WHERE died < ?", (now - LINGER_SECONDS,))
            self._connection.execute("UPDATE claims SET wanted = ? WHERE key = ?", (report.wanted, self._name))
            query = "SELECT key, wanted FROM claims WHERE place = ? AND died IS NULL"
            wants: dict[str, int] = dict(self._connection.execute(query, (self._address,)))
        slots = divide_slots(size.limit, wants, rotation=int(now / ROTATION_SECONDS))
        return Grant(slots[self._name], size.halvings)

    def hold(self, slots: int, *, at_least: int) -> int:
        """Hold so many slots, as far as the others leave them, and `at_least` what is in use; how many there are now."""
        with self._connection.writing():
            query = "SELECT COALESCE(SUM(held), 0) FROM claims WHERE place = ? AND key <> ?"
            others = int(self._connection.execute(query, (self._address, self._name)).fetchone()[0])
            size: int = self._connection.execute("SELECT size FROM sizes WHERE key = ?", (self._address,)).fetchone()[0]
            held = max(at_least, min(slots, size - others))
            self._connection.execute("UPDATE claims SET held = ? WHERE key = ?", (held, self._name))
        return held

    def end(self) -> None:
        """Give every slot back, delete the claim and close its connection."""
        self._connection.execute("DELETE FROM claims WHERE key = ?", (self._name,))
        self._connection.close()

    def _size(self, report: WorkerReport) -> AimdLimit:
        query = "SELECT size, halvings, successes FROM sizes WHERE key = ?"
        row = self._connection.execute(query, (self._address,)).fetchone()
        size = AimdLimit(*row) if row else AimdLimit(FIRST_LIMIT)
        size.limit = min(size.limit, self._ceiling)
        for _ in range(report.successes):
            size.succeeded(ceiling=self._ceiling)
        for acquired in report.overloads:
            size.overloaded(acquired)
        self._connection.execute(KEEP_SIZE, (self._address, b"", size.limit, size.halvings, size.successes))
        return size


def open_claim(*, address: str, name: str, ceiling: int) -> SlotClaim:
    """Connect to the workers' database and claim slots at an endpoint."""
    database = open_database(LIMITS)
    connection = database.connect([SIZES, CLAIMS])
    assert isinstance(connection, PostgresConnection)
    return SlotClaim(connection, address=address, name=name, ceiling=ceiling)


class SharedConcurrencyLimit:
    """The ConcurrencyLimit port for one event loop of one worker. Raises EndpointError when the database is lost for long."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._address, self._ceiling = settings.address, settings.max_in_flight
        self._semaphore = ResizableSemaphore(0)
        self._report, self._lock = WorkerReport(), threading.Lock()
        self._halvings = 0
        self._wake, self._closed = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._problem = ""

    async def acquire(self) -> int:
        """Wait for a slot; the number is for `overloaded`."""
        if self._problem:
            raise EndpointError(self._problem)
        if self._thread is None:
            self._loop = asyncio.get_running_loop()
            self._thread = threading.Thread(target=self._trade_slots, name="slots", daemon=True)
            self._thread.start()
        elif not self._semaphore.capacity:
            self._wake.set()
        await self._semaphore.acquire()
        return self._halvings

    def release(self) -> None:
        self._semaphore.release()

    def succeeded(self) -> None:
        with self._lock:
            self._report.successes += 1

    def overloaded(self, acquired: int) -> None:
        """Count an overload; the other workers hear of it at once."""
        if acquired == self._halvings:
            with self._lock:
                self._report.overloads += (acquired,)
            self._wake.set()

    def close(self) -> None:
        """Give all slots back to the other workers."""
        self._closed.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(CLOSING_SECONDS)  # so that the others need not wait for a dead worker's slots

    def _trade_slots(self) -> None:
        claim: SlotClaim | None = None
        errors = open_database(LIMITS).errors
        since = time.monotonic()
        while not self._ended():
            try:
                claim = claim or open_claim(address=self._address, name=uuid.uuid4().hex, ceiling=self._ceiling)
                self._tick(claim)
                since = time.monotonic()
            except errors as error:
                # Whoever loses the database holds nothing any more: new calls wait until it is back.
                claim = None
                self._semaphore.resize(0)
                if time.monotonic() - since > GIVE_UP_SECONDS:
                    self._give_up(error)
                    return
            self._wake.wait(TICK_SECONDS)
            self._wake.clear()
        if claim is not None:
            with suppress(*errors):
                claim.end()

    def _ended(self) -> bool:
        return self._closed.is_set() or self._loop is None or self._loop.is_closed()

    def _tick(self, claim: SlotClaim) -> None:
        with self._lock:
            report, self._report = self._report, WorkerReport()
        report.wanted = self._semaphore.wanted
        grant = claim.adapt(report)
        self._halvings = grant.halvings
        # First fewer, then reported; first reported, then more: so the sum is never above the limit.
        in_use = self._semaphore.resize(min(grant.slots, self._semaphore.capacity))
        self._semaphore.resize(min(grant.slots, claim.hold(grant.slots, at_least=in_use)))
        self._in_loop(self._semaphore.wake_waiters)

    def _give_up(self, error: Exception) -> None:
        self._problem = open_database(LIMITS).diagnose(error) or str(error)
        self._in_loop(lambda: self._semaphore.fail_waiters(EndpointError(self._problem)))

    def _in_loop(self, job: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has been closed in between
                self._loop.call_soon_threadsafe(job)


def divide_slots(size: int, wants: Mapping[str, int], *, rotation: int = 0) -> dict[str, int]:
    """Divide the slots by need: nobody waits while another has more than both need, and what is left over is spread.

    Where slots do not divide evenly, `rotation` says who is served first; as it grows, everyone is in time.
    """
    names = sorted(wants)
    first = rotation % len(names) if names else 0
    order = sorted([*names[first:], *names[:first]], key=lambda name: wants[name])  # stable: equals keep their order
    slots, left = dict.fromkeys(names, 0), size
    for index, name in enumerate(order):
        slots[name] = min(wants[name], _ceil_div(left, len(order) - index))
        left -= slots[name]
    for index, name in enumerate(order):
        more = _ceil_div(left, len(order) - index)
        slots[name] += more
        left -= more
    return slots


def _ceil_div(left: int, among: int) -> int:
    """The quotient rounded up, so that the larger part comes first."""
    return -(-left // among)
