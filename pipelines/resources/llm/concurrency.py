"""How much may be asked of an endpoint at once."""

import asyncio
import threading
from collections import deque
from dataclasses import dataclass
from typing import Protocol

FIRST_LIMIT = 16


class Slots(Protocol):
    """Calls in flight from one event loop. Raises EndpointError when slots cannot be had any more."""

    async def acquire(self) -> int:
        """Wait for a slot; the number is for `overloaded`."""
        ...

    def release(self) -> None: ...

    def succeeded(self) -> None: ...

    def overloaded(self, acquired: int) -> None: ...

    def close(self) -> None: ...


@dataclass
class Size:
    """How many calls may be in flight: one more per success until the first overload, then one more after each window of
    successes; half as many after an overload.
    """

    limit: int
    halvings: int = 0
    successes: int = 0

    def succeeded(self, *, ceiling: int) -> None:
        """Count a success."""
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


class Turns:
    """Slots of one event loop, handed on in the order of asking."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.in_flight = 0
        self._lock = threading.Lock()
        self._waiting: deque[asyncio.Future[None]] = deque()

    @property
    def wanted(self) -> int:
        """Calls in flight and those that wait; also for other threads."""
        return self.in_flight + len(self._waiting)

    async def wait(self) -> None:
        """Wait for a slot."""
        if not self._waiting and self._enter():
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.leave()  # the slot had been handed over already
            raise

    def leave(self) -> None:
        """Give the slot back."""
        with self._lock:
            self.in_flight -= 1
        self.hand_on()

    def resize(self, capacity: int) -> int:
        """Have so many slots from now on, also from another thread; how many calls there may be until some come home."""
        with self._lock:
            self.capacity = capacity
            return max(capacity, self.in_flight)

    def hand_on(self) -> None:
        """Let in whom there is room for."""
        while self._waiting and self._enter():
            turn = self._waiting.popleft()
            if turn.done():
                with self._lock:
                    self.in_flight -= 1
            else:
                turn.set_result(None)

    def dismiss(self, error: Exception) -> None:
        """Fail everyone who waits."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_exception(error)

    def _enter(self) -> bool:
        with self._lock:
            if self.in_flight >= self.capacity:
                return False
            self.in_flight += 1
            return True


class AdaptiveLimit:
    """The Slots port for one process alone."""

    def __init__(self, *, start: int, ceiling: int) -> None:
        self._size = Size(max(1, min(start, ceiling)))
        self._ceiling = ceiling
        self._turns = Turns(self._size.limit)

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return self._size.limit

    async def acquire(self) -> int:
        """Wait for a slot; the number is for `overloaded`."""
        await self._turns.wait()
        return self._size.halvings

    def release(self) -> None:
        """Give the slot back."""
        self._turns.leave()

    def succeeded(self) -> None:
        """Count a success."""
        self._size.succeeded(ceiling=self._ceiling)
        self._turns.capacity = self._size.limit

    def overloaded(self, acquired: int) -> None:
        """Count an overload of the calls that were acquired with this number."""
        self._size.overloaded(acquired)
        self._turns.capacity = self._size.limit

    def close(self) -> None:
        """Nothing is held."""
