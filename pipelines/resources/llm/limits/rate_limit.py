"""Limits of requests and tokens per minute, as the settings have them."""

import time
from collections.abc import Callable
from typing import Protocol

from assets.llm.ports import ModelReply, ModelRequest

CHARACTERS_PER_TOKEN = 4


class RateLimiter(Protocol):
    """Requests and tokens per minute. `reserve` gives the seconds to wait before sending."""

    async def reserve(self, request: ModelRequest) -> float: ...

    async def settle(self, request: ModelRequest, *, reply: ModelReply) -> None: ...


class TokenBucket:
    """Amounts per minute, evenly spread, with one second's worth in advance. It belongs to no event loop."""

    def __init__(
        self, per_minute: int, *, clock: Callable[[], float] = time.monotonic, state: tuple[float, float] | None = None
    ) -> None:
        self._rate = per_minute / 60
        self._capacity = max(1.0, self._rate)
        self._clock = clock
        self._level, self._seen = state or (self._capacity, clock())

    @property
    def state(self) -> tuple[float, float]:
        """The amount that is left, and as of when; another bucket goes on from it."""
        return self._level, self._seen

    def reserve(self, amount: float) -> float:
        """The seconds to wait before the amount may be used."""
        now = self._clock()
        self._level = min(self._capacity, self._level + (now - self._seen) * self._rate)
        self._seen = now
        self._level -= amount
        return max(0.0, -self._level / self._rate)

    def give_back(self, amount: float) -> None:
        """Return what was reserved and not used; a negative amount was used beyond what was reserved."""
        self._level = min(self._capacity, self._level + amount)


class LocalRateLimiter:
    """The RateLimiter port for one process alone."""

    def __init__(
        self,
        *,
        requests_per_minute: int | None,
        tokens_per_minute: int | None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._requests = TokenBucket(requests_per_minute, clock=clock) if requests_per_minute else None
        self._tokens = TokenBucket(tokens_per_minute, clock=clock) if tokens_per_minute else None

    async def reserve(self, request: ModelRequest) -> float:
        """Reserve one request and its likely tokens; the seconds to wait before sending it."""
        requests = self._requests.reserve(1) if self._requests else 0.0
        tokens = self._tokens.reserve(likely_tokens(request)) if self._tokens else 0.0
        return max(requests, tokens)

    async def settle(self, request: ModelRequest, *, reply: ModelReply) -> None:
        """Correct the reservation by what the reply says it used."""
        if self._tokens and reply.input_tokens:
            self._tokens.give_back(likely_tokens(request) - reply.input_tokens - reply.output_tokens)


def likely_tokens(request: ModelRequest) -> int:
    """Return the tokens that providers count in advance: the prompt's length and the whole room for the reply."""
    return sum(len(message.content) for message in request.messages) // CHARACTERS_PER_TOKEN + request.max_output_tokens
