"""What belongs to one event loop, and so to one run: connections, slots, the breaker, and the end of the run."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from dataclasses import dataclass

import httpx2
import openai

from pipelines.resources.llm.circuit_breaker import Breaker, Halt
from pipelines.resources.llm.concurrency import FIRST_LIMIT, AdaptiveLimit, Slots
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.database import shared_database

LONGEST_CONNECT_SECONDS = 10.0
FIRST_PAUSE, LONGEST_PAUSE = 2, 60  # in multiples of the settings' backoff_seconds
NO_KEY = "none"  # local servers want no key, but the client insists on one


@dataclass
class Lane:
    """One event loop's way to the endpoint. `served` once a reply has come back on it."""

    client: openai.AsyncOpenAI
    keeper: AsyncGenerator[openai.AsyncOpenAI, None]
    limit: Slots
    halt: Halt
    breaker: Breaker
    served: bool = False


class Lanes:
    """The lane of every event loop that calls the endpoint, opened at its first call."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        # Built here because it reads the certificates from the disk, which has no place on an event loop.
        self._tls = None if settings.transport else httpx2.create_ssl_context()
        self._of: dict[asyncio.AbstractEventLoop, Lane] = {}

    async def here(self) -> Lane:
        """The running loop's lane. A new one starts from the limit that the latest one had found."""
        loop = asyncio.get_running_loop()
        known = self._of.get(loop)
        if known is not None:
            return known
        others = list(self._of)
        slots, halt, unit = self._slots(), Halt(), self._settings.backoff_seconds
        keeper = kept_client(self._settings, tls=self._tls, slots=slots)
        lane = Lane(
            client=await anext(keeper),  # does not suspend, so no second first call can slip in
            keeper=keeper,
            limit=slots,
            halt=halt,
            breaker=Breaker(halt, first_pause=FIRST_PAUSE * unit, longest_pause=LONGEST_PAUSE * unit),
        )
        for other in others:
            if other.is_closed():
                self._of.pop(other, None)
        self._of[loop] = lane
        return lane

    def _slots(self) -> Slots:
        if shared_database() and self._settings.transport is None:
            from pipelines.cluster.slots import SharedSlots

            return SharedSlots(self._settings)
        latest = next((lane.limit for lane in reversed(self._of.values()) if isinstance(lane.limit, AdaptiveLimit)), None)
        return AdaptiveLimit(start=latest.limit if latest else FIRST_LIMIT, ceiling=self._settings.max_in_flight)

    async def leave(self) -> None:
        """Close the running loop's lane, if there is one."""
        lane = self._of.pop(asyncio.get_running_loop(), None)
        if lane is not None:
            await lane.keeper.aclose()


async def kept_client(
    settings: EndpointSettings, *, tls: ssl.SSLContext | None, slots: Slots
) -> AsyncGenerator[openai.AsyncOpenAI, None]:
    """Yield a client of the running loop, whose slots are given back at the end.

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
        slots.close()
        if settings.transport is None:
            await client.close()
