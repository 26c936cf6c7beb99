"""The number of calls that an endpoint gets at once: it grows with successes and shrinks at overloads and rate limits."""

import asyncio
from heapq import heappop, heappush
from itertools import count

FIRST_LIMIT = 16


class AdaptiveLimit:
    """Calls in flight from one event loop: additive increase, multiplicative decrease, as in TCP.

    Of the calls that wait, those with the lowest rank go first, and of these the first that came.

    One more per success until the first overload, then one more after each window of successes; half as many after an
    overload. One less after a call that a rate limit turned away: about as many are turned away as get through.
    """

    def __init__(self, *, start: int, ceiling: int) -> None:
        self.limit = max(1, min(start, ceiling))
        self._ceiling = ceiling
        self._halvings = 0
        self._successes = 0
        self._in_flight = 0
        self._arrivals = count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    async def acquire(self, *, rank: int = 0) -> int:
        """Wait until one more call may start; the number is for `overloaded`."""
        if not self._waiting and self._in_flight < self.limit:
            self._in_flight += 1
            return self._halvings
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heappush(self._waiting, (rank, next(self._arrivals), waiter))
        try:
            await waiter
        except asyncio.CancelledError:
            if not waiter.cancelled():
                self.release()  # it had been let in already
            raise
        return self._halvings

    def release(self) -> None:
        """Count a call that has ended, and let in as many as there is room for."""
        self._in_flight -= 1
        while self._waiting and self._in_flight < self.limit:
            *_, waiter = heappop(self._waiting)
            if not waiter.done():  # else its call was cancelled
                self._in_flight += 1
                waiter.set_result(None)

    def count_success(self) -> None:
        """Count a success; the limit grows by one when its window of successes is full."""
        self._successes += 1
        window = self.limit if self._halvings else 1
        if self._successes >= window:
            self._successes = 0
            self.limit = min(self.limit + 1, self._ceiling)

    def turned_away(self) -> None:
        """Count a call that a rate limit has turned away."""
        self.limit = max(1, self.limit - 1)

    def halve_limit(self, acquired: int) -> None:
        """Halve, once for all the calls that were in flight when the overload showed: those acquired with this number."""
        if acquired == self._halvings:
            self._halvings += 1
            self._successes = 0
            self.limit = max(1, self.limit // 2)
