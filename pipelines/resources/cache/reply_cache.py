"""The two caches: replies and finished items are stored at once, so that a killed run loses nothing and is replayed unasked."""

import asyncio
import hashlib
import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, Protocol
from weakref import WeakValueDictionary

from pydantic import TypeAdapter, ValidationError

from assets.llm.async_calls import shield_call
from assets.llm.ports import EndpointError, LanguageModel, ModelReply, ModelRequest
from assets.llm.structured_output import is_rubbish
from assets.records.readable import is_readable_json
from pipelines.resources.llm.limits.concurrency import AdaptiveLimit
from pipelines.resources.storage.database import Connection
from pipelines.resources.storage.key_value import KeyValueStore, digest_of
from pipelines.resources.storage.open_database import open_database

CacheMode = Literal["use", "replay", "off"]
TABLE = "replies"
# `at`: when the reply came, in seconds since 1970; for pruning alone.
COLUMNS = {"model": "TEXT", "at": "REAL", "place": "TEXT", "rejected": "INTEGER"}
# Seconds between looks at what another process asks: soon at first, because most replies take a second or two.
FIRST_LOOK = 0.05
LONGEST_LOOK = 1.0
NOT_STORED = {"seconds", "price_share", "cost_usd"}
REPLY: TypeAdapter[ModelReply] = TypeAdapter(ModelReply)


class Place(Protocol):
    """The place that serves a model; empty for the embedded model, whose name says what it is."""

    @property
    def address(self) -> str: ...

    async def of(self, model: str) -> str:
        """The address, and what is known of the model there."""
        ...

    async def lacks(self, models: Sequence[str]) -> list[str]:
        """Those of the models that it says it does not serve."""
        ...


@dataclass(frozen=True)
class NamedPlace:
    """A place that needs not be asked. Without a name: the embedded model."""

    address: str = ""

    async def of(self, model: str) -> str:
        return self.address

    async def lacks(self, models: Sequence[str]) -> list[str]:
        return []


NOWHERE = NamedPlace()


def open_replies(path: Path, *, reading: bool = False) -> KeyValueStore:
    """Return the store of replies in this file, or in the workers' database.

    `reading`: nothing will be written, so a file that cannot be written will do.
    """
    database = open_database(path, reading=reading)
    return KeyValueStore(database, table=TABLE, columns=COLUMNS, checked=True, replaced_where="rejected = 1")


class ReplyCache:
    """The replies of one place.

    A reply that no reader accepts, or that is no word of a model's, is stored as rejected: only replays use it.
    """

    def __init__(self, store: KeyValueStore, *, place: Place, replay: bool = False) -> None:
        self._store = store
        self._place = place
        self._replay = replay
        self._places: list[str] | None = None  # of all replies, for a replay

    async def find(self, model: str, key: str) -> ModelReply | None:
        """Return the stored reply to the request of this key, marked as repeated. A replay takes that of any place."""
        for stored_key, value, digest, rejected in await self._rows(await self._keys(model, key)):
            if rejected and not self._replay:
                continue
            if digest == digest_of(stored_key, value):
                with suppress(ValidationError):
                    return replace(REPLY.validate_json(value), repeated=True)
            await self._store.drop(stored_key)
        return None

    async def put(self, request: ModelRequest, reply: ModelReply) -> None:
        """Return when the reply is on the disk. The first one stays, unless it was rejected."""
        place = await self._place.of(request.model)
        rejected = is_rubbish(request, reply) or is_refused_unread(reply)
        extra = {"model": request.model, "at": time.time(), "place": place, "rejected": int(rejected)}
        content = REPLY.dump_json(replace(reply, repeated=False), exclude=NOT_STORED)
        await self._store.put(key_at(place, request_key(request)), content, extra=extra)

    async def _keys(self, model: str, key: str) -> list[str]:
        place = await self._place.of(model)
        # A reply that came when the place could not say what it serves has the address alone.
        places = dict.fromkeys([place, self._place.address])
        if self._replay:
            if self._places is None:
                self._places = await self._store.run(_all_places)
            places |= dict.fromkeys(["", *self._places])  # an imported reply of the embedded model has no place
        return [key_at(name, key) for name in places]

    async def _rows(self, keys: Sequence[str]) -> list[tuple[str, bytes, str | None, int | None]]:
        query = f"SELECT key, value, digest, rejected FROM {TABLE} WHERE key IN ({', '.join('?' for _ in keys)})"
        rows = await self._store.run(lambda connection: connection.execute(query, tuple(keys)).fetchall())
        return sorted(rows, key=lambda row: keys.index(row[0]))


class CachedModel:
    """A model whose replies are stored by request and place.

    use: ask the model for what is missing. replay: never ask. off: always ask, store nothing. A model's refusals and cut-off
    replies are stored too, because asking again changes the messages and so the key. A request that another process asks
    is waited for. `limit`: of calls that are asked and not yet stored, which go on when the run is stopped; of those that wait
    for it, the lowest rank goes first, and a stopped run asks none.
    """

    def __init__(
        self,
        model: LanguageModel,
        *,
        store: KeyValueStore,
        mode: CacheMode,
        limit: AdaptiveLimit | None = None,
        place: Place = NOWHERE,
    ) -> None:
        self._model = model
        self._limit = limit
        self._replies = ReplyCache(store, place=place, replay=mode == "replay")
        self._store = store
        self._mode: CacheMode = mode
        self._locks: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Return the stored reply, marked as repeated, or a new one. Raises EndpointError when a replay lacks it."""
        if self._mode == "off":
            return await self._model.complete(request)
        # One lock per request and loop: equal calls at the same time wait, and then find the reply stored. When the call
        # that asks is cancelled, the next one asks.
        key = request_key(request)
        lock = self._locks.setdefault((id(asyncio.get_running_loop()), key), asyncio.Lock())
        async with lock:
            stored = await self._replies.find(request.model, key)
            if stored is not None:
                return stored
            if self._mode == "replay":
                prompt, stage, item = request.labels.prompt, request.labels.stage, request.labels.item_id
                raise EndpointError(
                    f"The reply cache has no reply to prompt {prompt!r} at stage {stage!r} for user {item!r}, and a replay "
                    "asks no model; run once with the cache in use and a model endpoint to record it."
                )
            if self._limit is None:
                return await self._claim_and_ask(request, key=key)
            await self._limit.acquire(rank=request.labels.rank)
            try:
                return await self._claim_and_ask(request, key=key)
            finally:
                self._limit.release()

    async def _claim_and_ask(self, request: ModelRequest, *, key: str) -> ModelReply:
        pause = FIRST_LOOK
        while not await self._store.claims.take(key):
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_LOOK)
            stored = await self._replies.find(request.model, key)
            if stored is not None:
                return stored
        return await shield_call(self._ask(request, key=key))

    async def _ask(self, request: ModelRequest, *, key: str) -> ModelReply:
        try:
            # Between the look and the claim another process may have stored its reply.
            stored = await self._replies.find(request.model, key)
            return stored or await self._ask_and_store(request, key=key)
        finally:
            await self._store.claims.release(key)

    async def _ask_and_store(self, request: ModelRequest, *, key: str) -> ModelReply:
        reply = await self._model.complete(request)
        # A recorder of paid calls has stored it already, while the call still held its slot.
        stored = await self._replies.find(request.model, key)
        if stored is None:
            await self._replies.put(request, reply)
            stored = await self._replies.find(request.model, key)
        # Another process may have stored its reply first; using that one keeps a later replay true to this run.
        about_the_call = {name: getattr(reply, name) for name in NOT_STORED}
        return replace(stored or reply, repeated=reply.repeated, **about_the_call)


def _all_places(connection: Connection) -> list[str]:
    return sorted(row[0] for row in connection.execute(f"SELECT DISTINCT place FROM {TABLE} WHERE place IS NOT NULL"))


def request_key(request: ModelRequest) -> str:
    """Return the identity of a request: everything in it but its labels; further fields and tools where there are any."""
    identity = {name: value for name, value in vars(request).items() if name != "labels"}
    if not request.extra_body:
        del identity["extra_body"]
    if not request.tools:
        del identity["tools"]
    identity["messages"] = [vars(message) for message in request.messages]
    if request.temperature is not None:
        identity["temperature"] = float(request.temperature)
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def is_refused_unread(reply: ModelReply) -> bool:
    """Return True for a refusal that came as an error: it costs nothing, and an outage may refuse every request."""
    return reply.finish != "stop" and not (reply.text or reply.input_tokens or reply.output_tokens)


def key_at(place: str, key: str) -> str:
    """Return the identity of a call: its request, and the place that serves the model."""
    return hashlib.sha256(f"{key}\n{place}".encode()).hexdigest() if place else key


class SqlRecordCache:
    """The RecordCache port over the installation's database. Raises StoreError when it cannot be used.

    What another address has made is not found: it is made again, from replies, which say exactly who gave them.
    """

    def __init__(self, path: Path, *, place: Place = NOWHERE) -> None:
        self._store = KeyValueStore(open_database(path), table="work", checked=True)
        self._address = place.address

    async def get(self, key: str) -> bytes | None:
        """Return the record stored under the key; one with characters that no check lets through is made again."""
        own = key_at(self._address, key)
        stored = await self._store.get(own)
        if stored is None:
            return None
        record = stored.decode(errors="replace").partition("\n")[2]  # before it stands what it took
        if is_readable_json(record):
            return stored
        await self._store.drop(own)
        return None

    async def put(self, key: str, record: bytes) -> None:
        """Return when the record is on the disk; a record already there stays."""
        await self._store.put(key_at(self._address, key), record)

    def close(self) -> None:
        """Let go of the database; it opens again when next used."""
        self._store.close()
