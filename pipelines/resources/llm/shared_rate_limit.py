"""Requests and tokens per minute, counted in the database of all workers."""

import weakref
from functools import partial
from pathlib import Path

from assets.llm.ports import ModelReply, ModelRequest
from pipelines.resources.llm.limits.rate_limit import TokenBucket, likely_tokens
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.database import Connection
from pipelines.resources.storage.key_value import KeyValueStore
from pipelines.resources.storage.open_database import open_database

LIMITS = Path("limits")  # names the schema
NOW = "SELECT EXTRACT(EPOCH FROM clock_timestamp())"  # the database's clock: workers' may differ
COLUMNS = {"level": "REAL", "seen": "REAL"}


class SharedRateLimiter:
    """The RateLimiter port. Reservations of all workers stand in one line, so that no minute has more than it may."""

    def __init__(self, settings: EndpointSettings) -> None:
        self._tokens_key = f"tokens {settings.address}"
        self._limits: dict[str, int] = {}
        if settings.requests_per_minute:
            self._limits[f"requests {settings.address}"] = settings.requests_per_minute
        if settings.tokens_per_minute:
            self._limits[self._tokens_key] = settings.tokens_per_minute
        self._store = KeyValueStore(open_database(LIMITS), table="rate_limits", columns=COLUMNS)
        weakref.finalize(self, self._store.close)  # a client has no end of its own

    async def reserve(self, request: ModelRequest) -> float:
        """Reserve one request and its likely tokens; the seconds to wait before sending it. Raises StoreError."""
        amounts: dict[str, int] = {}
        for key in self._limits:
            amounts[key] = likely_tokens(request) if key == self._tokens_key else 1
        return await self._store.run(partial(self._take, amounts=amounts))

    async def settle(self, request: ModelRequest, *, reply: ModelReply) -> None:
        """Correct the reservation of tokens by what the reply says it used. Raises StoreError."""
        if self._tokens_key in self._limits and reply.input_tokens:
            more = reply.input_tokens + reply.output_tokens - likely_tokens(request)
            await self._store.run(partial(self._take, amounts={self._tokens_key: more}))

    def _take(self, connection: Connection, *, amounts: dict[str, int]) -> float:
        with connection.writing():
            now: float = connection.execute(NOW).fetchone()[0]
            return max(self._take_one(connection, key, amount=amount, now=now) for key, amount in amounts.items())

    def _take_one(self, connection: Connection, key: str, *, amount: int, now: float) -> float:
        row = connection.execute("SELECT level, seen FROM rate_limits WHERE key = ?", (key,)).fetchone()
        bucket = TokenBucket(self._limits[key], clock=lambda: now, state=row)
        wait = bucket.reserve(amount)
        level, seen = bucket.state
        insert = "INSERT INTO rate_limits (key, value, level, seen) VALUES (?, ?, ?, ?)"
        update = "ON CONFLICT (key) DO UPDATE SET level = excluded.level, seen = excluded.seen"
        connection.execute(f"{insert} {update}", (key, b"", level, seen))
        return wait
