"""All that belongs to one event loop, and so to one run: HTTP connections, concurrency limit, health, stop signal."""

import asyncio
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx2

from assets.llm.ports import EndpointError
from assets.records.limits import MB
from pipelines.bounded_http import BoundedAsyncClient
from pipelines.network_route import NoRoute
from pipelines.resources.llm.endpoint_health import EndpointHealth, StopSignal
from pipelines.resources.llm.limits.concurrency import FIRST_LIMIT, AdaptiveLimit
from pipelines.resources.llm.settings import EndpointSettings

if TYPE_CHECKING:
    import openai

LONGEST_CONNECT_SECONDS = 10.0
# In multiples of the settings' backoff_seconds: a warning every 15 seconds, and the end after ten minutes.
WARN_AFTER = 30
LONGEST_SILENCE = 1200
TIMEOUTS_OF_SILENCE = 3  # so that a slow endpoint is not taken for a dead one
MOST_BYTES = 4 * MB  # of an answer to a call, many times what its tokens come to
NO_KEY = "none"  # local servers want no key, but the client insists on one


@dataclass
class EndpointConnection:
    """One event loop's connection to the endpoint."""

    client: "openai.AsyncOpenAI"
    lifetime: AsyncGenerator["openai.AsyncOpenAI", None]
    limit: AdaptiveLimit
    stop: StopSignal
    health: EndpointHealth


class Connections:
    """The connection of every event loop that calls the endpoint, opened at its first call. `most_bytes`: of one answer."""

    def __init__(self, settings: EndpointSettings, *, most_bytes: int = MOST_BYTES) -> None:
        self._settings = settings
        self._most_bytes = most_bytes
        self._no_route = ""
        self._options: dict[str, Any] = {"transport": settings.transport}
        if settings.transport is None:
            try:
                # Here because it reads the certificates from the disk, which would block an event loop.
                self._options = settings.route.client_options()
            except NoRoute as error:
                self._no_route = str(error)
        self._by_loop: dict[asyncio.AbstractEventLoop, EndpointConnection] = {}

    async def current(self) -> EndpointConnection:
        """The running loop's connection. A new one starts from the concurrency limit that the latest one had reached.

        Raises EndpointError where the environment lets none be made.
        """
        if self._no_route:
            raise EndpointError(f"The model endpoint {self._settings.address} cannot be asked. {self._no_route}")
        loop = asyncio.get_running_loop()
        known = self._by_loop.get(loop)
        if known is not None:
            return known
        others = list(self._by_loop)
        limit = self._new_limit()
        stop = StopSignal()
        unit = self._settings.backoff_seconds
        health = EndpointHealth(
            stop,
            endpoint=self._settings.address,
            warn_after=WARN_AFTER * unit,
            longest_silence=max(LONGEST_SILENCE * unit, TIMEOUTS_OF_SILENCE * self._settings.timeout_seconds),
        )
        lifetime = _client_lifetime(self._settings, options=self._options, most_bytes=self._most_bytes)
        client = await anext(lifetime)  # does not suspend, so no second first call can slip in
        connection = EndpointConnection(client=client, lifetime=lifetime, limit=limit, stop=stop, health=health)
        for other in others:
            if other.is_closed():
                self._by_loop.pop(other, None)
        self._by_loop[loop] = connection
        return connection

    def _new_limit(self) -> AdaptiveLimit:
        start = FIRST_LIMIT
        for connection in self._by_loop.values():
            start = connection.limit.limit
        return AdaptiveLimit(start=start, ceiling=self._settings.max_in_flight)

    async def close_current(self) -> None:
        """Close the running loop's connection, if there is one."""
        connection = self._by_loop.pop(asyncio.get_running_loop(), None)
        if connection is not None:
            await connection.lifetime.aclose()


def _headers(settings: EndpointSettings) -> dict[str, Any]:
    """Headers of one's own, and without those that openai would make of its own variables for any address."""
    import openai  # late, as where the client is made

    headers: dict[str, Any] = {name: openai.Omit() for name in settings.headers_of_others()}
    return {**headers, **settings.headers}


async def _without_no_key(request: httpx2.Request) -> None:
    """Take out the placeholder key: where a header of the user's says who asks, it would be a second one."""
    if request.headers.get("Authorization") == f"Bearer {NO_KEY}":
        del request.headers["Authorization"]


async def _client_lifetime(
    settings: EndpointSettings, *, options: Mapping[str, Any], most_bytes: int
) -> AsyncGenerator["openai.AsyncOpenAI", None]:
    """Yield a client of the running loop; at the end close it.

    A loop that shuts down closes its asynchronous generators; so the client is closed by the loop that holds its
    connections, and by no other.
    """
    # Late: it takes half a second, and a run whose replies are all in the cache asks nobody.
    import openai

    http = BoundedAsyncClient(
        most_bytes=most_bytes,
        headers=settings.headers,
        event_hooks={"request": [_without_no_key] if settings.headers else []},
        follow_redirects=True,
        **options,
    )
    client = openai.AsyncOpenAI(
        base_url=settings.root,
        default_query=settings.query,
        default_headers=_headers(settings),
        api_key=settings.api_key.get_secret_value() if settings.api_key else NO_KEY,
        timeout=httpx2.Timeout(None, connect=min(LONGEST_CONNECT_SECONDS, settings.timeout_seconds)),
        max_retries=0,
        http_client=http,
    )
    try:
        yield client
    finally:
        if settings.transport is None:
            await client.close()
