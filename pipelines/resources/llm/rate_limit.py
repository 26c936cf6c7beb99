"""How much may be asked of an endpoint per minute."""

import time
from collections.abc import Callable
from typing import Protocol

from assets.llm.ports import ModelReply, ModelRequest
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.database import shared_database

CHARACTERS_PER_TOKEN = 4


class Pacing(Protocol):
    """Requests and tokens per minute. `take` reserves; the seconds to wait before sending."""

    async def take(self, request: ModelRequest) -> float: ...

    async def settle(self, request: ModelRequest, *, reply: ModelReply) -> None: ...


class Bucket:
    """Amounts per minute, evenly paced, with one second's worth in advance. It belongs to no event loop."""

    def __init__(
        self, per_minute: int, *, clock: Callable[[], float] = time.monotonic, state: tuple[float, float] | None = None
    ) -> None:
        self._rate = per_minute / 60
        self._capacity = max(1.0, self._rate)
        self._clock = clock
        self._level, self._seen = state or (self._capacity, clock())

    @property
    def state(self) -> tuple[float, float]:
        """What is left, and as of when; another bucket goes on from it."""
        return self._level, self._seen

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
    """The Pacing port for one process alone."""

    def __init__(self, *, requests_per_minute: int | None, tokens_per_minute: int | None) -> None:
        self._requests = Bucket(requests_per_minute) if requests_per_minute else None
        self._tokens = Bucket(tokens_per_minute) if tokens_per_minute else None

    async def take(self, request: ModelRequest) -> float:
        """Reserve one request and its likely tokens; the seconds to wait before sending it."""
        requests = self._requests.take(1) if self._requests else 0.0
        tokens = self._tokens.take(likely_tokens(request)) if self._tokens else 0.0
        return max(requests, tokens)

    async def settle(self, request: ModelRequest, *, reply: ModelReply) -> None:
        """Correct the reservation by what the reply says it used."""
        if self._tokens and reply.input_tokens:
            self._tokens.give_back(likely_tokens(request) - reply.input_tokens - reply.output_tokens)


def likely_tokens(request: ModelRequest) -> int:
    """What providers count before they know: the prompt's length and the whole room for the reply."""
    return sum(len(message.content) for message in request.messages) // CHARACTERS_PER_TOKEN + request.max_output_tokens


def pace_for(settings: EndpointSettings) -> Pacing:
    """The endpoint's pace: kept in the database of all workers where there is one, else by this process alone."""
    requests, tokens = settings.requests_per_minute, settings.tokens_per_minute
    if (requests or tokens) and shared_database() and settings.transport is None:
        from pipelines.cluster.pace import SharedPace

        return SharedPace(settings)
    return Pace(requests_per_minute=requests, tokens_per_minute=tokens)
