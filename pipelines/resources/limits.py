"""How much may be asked of an endpoint at once and per minute."""

import asyncio
import time
from collections import deque
from collections.abc import Callable

from assets.ports import ModelReply, ModelRequest

FIRST_LIMIT = 16
CHARACTERS_PER_TOKEN = 4


class AdaptiveLimit:
    """Calls in flight: one more per success until the first overload, then one more after each window of successes; half
    as many after an overload.

    It serves one event loop. Slots are handed on in the order of asking.
    """

    def __init__(self, *, start: int, ceiling: int) -> None:
        self.limit = max(1, min(start, ceiling))
        self._ceiling = ceiling
        self._in_flight = 0
        self._successes = 0
        self._halvings = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> int:
        """Wait for a slot; the number is for `overloaded`."""
        if self._in_flight < self.limit and not self._waiting:
            self._in_flight += 1
            return self._halvings
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if not turn.cancelled():
                self.release()  # the slot had been handed over already
            raise
        return self._halvings

    def release(self) -> None:
        """Give the slot back."""
        self._in_flight -= 1
        self._hand_on()

    def succeeded(self) -> None:
        """Count a success."""
        self._successes += 1
        window = self.limit if self._halvings else 1
        if self._successes >= window:
            self._successes = 0
            self.limit = min(self.limit + 1, self._ceiling)

    def overloaded(self, acquired: int) -> None:
        """Halve the limit, once for all the calls that were in flight when the overload showed."""
        if acquired == self._halvings:
            self._halvings += 1
            self._successes = 0
            self.limit = max(1, self.limit // 2)

    def _hand_on(self) -> None:
        while self._waiting and self._in_flight < self.limit:
            turn = self._waiting.popleft()
            if not turn.done():
                self._in_flight += 1
                turn.set_result(None)


class Bucket:
    """Amounts per minute, evenly paced, with one second's worth in advance. It belongs to no event loop."""

    def __init__(self, per_minute: int, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = per_minute / 60
        self._capacity = max(1.0, self._rate)
        self._level = self._capacity
        self._clock = clock
        self._seen = clock()

    def take(self, amount: float) -> float:
        """Reserve the amount; the seconds to wait before using it."""
        now = self._clock()
        self._level = min(self._capacity, self._level + (now - self._seen) * self._rate)
        self._seen = now
        self._level -= amount
        return max(0.0, -self._level / self._rate)

    def give_back(self, amount: float) -> None:
        """Return what was reserved and not used, or take what was used beyond."""
        self._level = min(self._capacity, self._level + amount)


class Pace:
    """Requests and tokens per minute, where limits are set."""

    def __init__(self, *, requests_per_minute: int | None, tokens_per_minute: int | None) -> None:
        self._requests = Bucket(requests_per_minute) if requests_per_minute else None
        self._tokens = Bucket(tokens_per_minute) if tokens_per_minute else None

    def take(self, request: ModelRequest) -> float:
        """Reserve one request and its likely tokens; the seconds to wait before sending it."""
        requests = self._requests.take(1) if self._requests else 0.0
        tokens = self._tokens.take(likely_tokens(request)) if self._tokens else 0.0
        return max(requests, tokens)

    def settle(self, request: ModelRequest, *, reply: ModelReply) -> None:
        """Correct the reservation by what the reply says it used."""
        if self._tokens and reply.input_tokens:
            self._tokens.give_back(likely_tokens(request) - reply.input_tokens - reply.output_tokens)


def likely_tokens(request: ModelRequest) -> int:
    """What providers count before they know: the prompt's length and the whole room for the reply."""
    return sum(len(message.content) for message in request.messages) // CHARACTERS_PER_TOKEN + request.max_output_tokens
