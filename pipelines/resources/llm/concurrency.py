"""How many calls an endpoint gets at once: a limit that grows with successes and halves at an overload."""

import asyncio
import threading
from collections import deque
from dataclasses import dataclass
from typing import Protocol

FIRST_LIMIT = 16


class ConcurrencyLimit(Protocol):
    """Calls in flight from one event loop. Raises EndpointError when no call can be admitted any more."""

    async def acquire(self) -> int:
        """Wait until one more call may start; the number is for `overloaded`."""
        ...

    def release(self) -> None: ...

    def succeeded(self) -> None: ...

    def overloaded(self, acquired: int) -> None: ...

    def close(self) -> None: ...


@dataclass
class AimdLimit:
    """How many calls may be in flight: additive increase, multiplicative decrease, as in TCP.

    One more per success until the first overload, then one more after each window of successes; half as many after an
    overload.
    """

    limit: int
    halvings: int = 0
    successes: int = 0

    def succeeded(self, *, ceiling: int) -> None:
        """Count a success; the limit grows by one when its window of successes is full."""
        self.successes += 1
        if self.successes >= (self.limit if self.halvings else 1):
            self.successes = 0
            self.limit = min(self.limit + 1, ceiling)

    def overloaded(self, acquired: int) -> None:
        """Halve, once for all the calls that were in flight when the overload showed."""
        if acquired == self.halvings:
            self.halvings += 1
            self.successes = 0
            self.limit = max(1, self.limit // 2)


class ResizableSemaphore:
    """A semaphore of one event loop, first come first served, whose capacity may change from another thread."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.in_flight = 0
        self._lock = threading.Lock()
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def wanted(self) -> int:
        """Calls in flight and those that wait; also for other threads."""
        return self.in_flight + len(self._waiting)

    async def acquire(self) -> None:
        if not self._waiting and self._enter():
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self.release()  # it had been let in already
            raise

    def release(self) -> None:
        """Make room for the next one."""
        with self._lock:
            self.in_flight -= 1
        self.wake_waiters()

    def resize(self, capacity: int) -> int:
        """Change the capacity, also from another thread; how many calls there may be until some have ended."""
        with self._lock:
            self.capacity = capacity
            return max(capacity, self.in_flight)

    def wake_waiters(self) -> None:
        """Let in as many as there is room for."""
        while self._waiting and self._enter():
            waiter = self._waiting.popleft()
            if waiter.done():
                with self._lock:
                    self.in_flight -= 1
            else:
                waiter.set_result(None)

    def fail_waiters(self, error: Exception) -> None:
        """Raise the error in everyone who waits."""
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_exception(error)

    def _enter(self) -> bool:
        with self._lock:
            if self.in_flight >= self.capacity:
                return False
            self.in_flight += 1
            return True


class AdaptiveLimit:
    """The ConcurrencyLimit port for one process alone."""

    def __init__(self, *, start: int, ceiling: int) -> None:
        self._aimd = AimdLimit(max(1, min(start, ceiling)))
        self._ceiling = ceiling
        self._semaphore = ResizableSemaphore(self._aimd.limit)

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return self._aimd.limit

    async def acquire(self) -> int:
        """Wait until one more call may start; the number is for `overloaded`."""
        await self._semaphore.acquire()
        return self._aimd.halvings

    def release(self) -> None:
        """Count a call that has ended."""
        self._semaphore.release()

    def succeeded(self) -> None:
        self._aimd.succeeded(ceiling=self._ceiling)
        self._semaphore.capacity = self._aimd.limit

    def overloaded(self, acquired: int) -> None:
        """Count an overload of the calls that were acquired with this number."""
        self._aimd.overloaded(acquired)
        self._semaphore.capacity = self._aimd.limit

    def close(self) -> None:
        """Do nothing: the limit of one process holds no connection or file."""
