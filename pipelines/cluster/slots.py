"""Calls in flight, within what all workers together may have at the endpoint.

Each event loop holds some of the slots, and a thread of its own trades them twice a second: it takes what the others leave
free, and gives back what they need more. A call costs the database nothing, and at no moment are there more than the limit.
"""

import asyncio
import threading
import time
import uuid
from collections.abc import Callable
from contextlib import suppress

from assets.llm.ports import EndpointError
from pipelines.cluster.claims import Claim, Report, open_claim
from pipelines.cluster.pace import LIMITS
from pipelines.resources.llm.concurrency import ResizableSemaphore
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.database import database_of

TICK_SECONDS = 0.5
PATIENCE_SECONDS = 60.0
CLOSING_SECONDS = 5.0


class SharedConcurrencyLimit:
    """The ConcurrencyLimit port for one event loop of one worker. Raises EndpointError when the database is lost for long."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._place, self._ceiling = settings.address, settings.max_in_flight
        self._semaphore = ResizableSemaphore(0)
        self._report, self._lock = Report(), threading.Lock()
        self._halvings = 0
        self._hungry, self._closed = threading.Event(), threading.Event()
        self._trader: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._problem = ""

    async def acquire(self) -> int:
        """Wait for a slot; the number is for `overloaded`."""
        if self._problem:
            raise EndpointError(self._problem)
        if self._trader is None:
            self._loop = asyncio.get_running_loop()
            self._trader = threading.Thread(target=self._trade, name="slots", daemon=True)
            self._trader.start()
        elif not self._semaphore.capacity:
            self._hungry.set()
        await self._semaphore.acquire()
        return self._halvings

    def release(self) -> None:
        """Give the slot back."""
        self._semaphore.release()

    def succeeded(self) -> None:
        """Count a success."""
        with self._lock:
            self._report.successes += 1

    def overloaded(self, acquired: int) -> None:
        """Count an overload; the other workers hear of it at once."""
        if acquired == self._halvings:
            with self._lock:
                self._report.overloads += (acquired,)
            self._hungry.set()

    def close(self) -> None:
        """Give all slots back to the other workers."""
        self._closed.set()
        self._hungry.set()
        if self._trader is not None:
            self._trader.join(CLOSING_SECONDS)  # so that the others need not wait for a dead worker's slots

    def _trade(self) -> None:
        claim: Claim | None = None
        errors = database_of(LIMITS).errors
        since = time.monotonic()
        while not self._ended():
            try:
                claim = claim or open_claim(place=self._place, name=uuid.uuid4().hex, ceiling=self._ceiling)
                self._tick(claim)
                since = time.monotonic()
            except errors as error:
                # Whoever loses the database holds nothing any more: new calls wait until it is back.
                claim = None
                self._semaphore.resize(0)
                if time.monotonic() - since > PATIENCE_SECONDS:
                    self._give_up(error)
                    return
            self._hungry.wait(TICK_SECONDS)
            self._hungry.clear()
        if claim is not None:
            with suppress(*errors):
                claim.end()

    def _ended(self) -> bool:
        return self._closed.is_set() or self._loop is None or self._loop.is_closed()

    def _tick(self, claim: Claim) -> None:
        with self._lock:
            report, self._report = self._report, Report()
        report.wanted = self._semaphore.wanted
        grant = claim.adapt(report)
        self._halvings = grant.halvings
        # First fewer, then told; first told, then more: so the sum is never above the limit.
        in_use = self._semaphore.resize(min(grant.slots, self._semaphore.capacity))
        self._semaphore.resize(min(grant.slots, claim.hold(grant.slots, at_least=in_use)))
        self._in_loop(self._semaphore.wake_waiters)

    def _give_up(self, error: Exception) -> None:
        self._problem = database_of(LIMITS).diagnose(error) or str(error)
        self._in_loop(lambda: self._semaphore.fail_waiters(EndpointError(self._problem)))

    def _in_loop(self, job: Callable[[], None]) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop has been closed in between
                self._loop.call_soon_threadsafe(job)
