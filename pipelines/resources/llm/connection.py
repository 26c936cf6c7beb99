"""What belongs to one event loop, and so to one run: HTTP connections, concurrency limit, circuit breaker, stop signal."""

import asyncio
import ssl
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

import httpx2
import openai

from pipelines.resources.llm.circuit_breaker import CircuitBreaker, GivenUpRequests, SilenceWatch, StopSignal
from pipelines.resources.llm.concurrency import FIRST_LIMIT, AdaptiveLimit, ConcurrencyLimit
from pipelines.resources.llm.retry import TryCounts
from pipelines.resources.llm.settings import EndpointSettings

LONGEST_CONNECT_SECONDS = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 2, 60  # in multiples of the settings' backoff_seconds
TELL_EVERY, LONGEST_SILENCE = 30, 1200  # likewise; the latter at least three times the settings' timeout
NO_KEY = "none"  # local servers want no key, but the client insists on one


@dataclass
class EndpointConnection:
    """One event loop's connection to the endpoint. `served` is true once a reply has come back on it.

    `turns`: by model, who may send the next call while a rate limit holds calls back.
    """

    client: openai.AsyncOpenAI
    lifetime: AsyncGenerator[openai.AsyncOpenAI, None]
    limit: ConcurrencyLimit
    stop: StopSignal
    breaker: CircuitBreaker
    watch: SilenceWatch
    given_up: GivenUpRequests = field(default_factory=GivenUpRequests)
    counts: TryCounts = field(default_factory=TryCounts)
    turns: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))
    served: bool = False


class Connections:
    """The connection of every event loop that calls the endpoint, opened at its first call.

    `new_limit` makes the concurrency limit of a loop; without it the process limits itself.
    """

    def __init__(self, settings: EndpointSettings, *, new_limit: Callable[[], ConcurrencyLimit] | None = None) -> None:
        self._settings = settings
        # Built here because it reads the certificates from the disk, which would block an event loop.
        self._tls = None if settings.transport else httpx2.create_ssl_context()
        self._new_limit = new_limit or self._adaptive_limit
        self._by_loop: dict[asyncio.AbstractEventLoop, EndpointConnection] = {}

    async def current(self) -> EndpointConnection:
        """The running loop's connection. A new one starts from the concurrency limit that the latest one had reached."""
        loop = asyncio.get_running_loop()
        known = self._by_loop.get(loop)
        if known is not None:
            return known
        others = list(self._by_loop)
        limit, stop, unit = self._new_limit(), StopSignal(), self._settings.backoff_seconds
        lifetime = _client_lifetime(self._settings, tls=self._tls, limit=limit)
        connection = EndpointConnection(
            client=await anext(lifetime),  # does not suspend, so no second first call can slip in
            lifetime=lifetime,
            limit=limit,
            stop=stop,
            breaker=CircuitBreaker(stop, first_pause=FIRST_PAUSE * unit, longest_pause=LONGEST_PAUSE * unit),
            watch=SilenceWatch(
                stop,
                endpoint=self._settings.address,
                every=TELL_EVERY * unit,
                longest=max(LONGEST_SILENCE * unit, 3 * self._settings.timeout_seconds),
            ),
        )
        for other in others:
            if other.is_closed():
                self._by_loop.pop(other, None)
        self._by_loop[loop] = connection
        return connection

    def _adaptive_limit(self) -> ConcurrencyLimit:
        limits = (connection.limit for connection in reversed(self._by_loop.values()))
        latest = next((limit for limit in limits if isinstance(limit, AdaptiveLimit)), None)
        return AdaptiveLimit(start=latest.limit if latest else FIRST_LIMIT, ceiling=self._settings.max_in_flight)

    async def close_current(self) -> None:
        """Close the running loop's connection, if there is one."""
        connection = self._by_loop.pop(asyncio.get_running_loop(), None)
        if connection is not None:
            await connection.lifetime.aclose()


async def _client_lifetime(
    settings: EndpointSettings, *, tls: ssl.SSLContext | None, limit: ConcurrencyLimit
) -> AsyncGenerator[openai.AsyncOpenAI, None]:
    """Yield a client of the running loop; at the end close it, and its limit.

    A loop that shuts down closes its asynchronous generators; so the client is closed by the loop that holds its
    connections, and by no other.
    """
    http = httpx2.AsyncClient(
        transport=settings.transport,
        verify=tls or True,
        limits=httpx2.Limits(max_connections=None, max_keepalive_connections=settings.max_in_flight),
        follow_redirects=True,
    )
    client = openai.AsyncOpenAI(
        base_url=settings.base_url,
        api_key=settings.api_key.get_secret_value() if settings.api_key else NO_KEY,
        timeout=httpx2.Timeout(None, connect=min(LONGEST_CONNECT_SECONDS, settings.timeout_seconds)),
        max_retries=0,
        http_client=http,
    )
    try:
        yield client
    finally:
        limit.close()
        if settings.transport is None:
            await client.close()
