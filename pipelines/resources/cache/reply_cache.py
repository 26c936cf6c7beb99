"""Every reply is stored before it is used: a killed run loses no call, and a finished one is replayed without a model."""

import asyncio
import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Literal, Protocol
from weakref import WeakValueDictionary

from pydantic import TypeAdapter

from assets.engine.async_calls import shielded
from assets.llm.ports import CallLabels, EndpointError, LanguageModel, ModelReply, ModelRequest
from pipelines.resources.storage.key_value import KeyValueStore, SqlValue
from pipelines.resources.storage.open_database import open_database

CacheMode = Literal["use", "replay", "off"]
TABLE = "replies"
COLUMNS = {"model": "TEXT", "at": "REAL"}  # `at`: when the reply came, in seconds since 1970; for pruning alone
NOT_STORED = {"seconds", "price_share", "cost_usd"}
REPLY: TypeAdapter[ModelReply] = TypeAdapter(ModelReply)


class ReplyStore(Protocol):
    """Bytes by key. What `put` has returned from is durable, and the first value of a key stays."""

    async def get(self, key: str) -> bytes | None: ...

    async def put(self, key: str, value: bytes, *, extra: Mapping[str, SqlValue] | None = None) -> None: ...


def open_replies(path: Path) -> KeyValueStore:
    """The store of replies in this file, or in the workers' database; one from before the columns existed gets them."""
    return KeyValueStore(open_database(path), table=TABLE, columns=COLUMNS)


class CachedModel:
    """A model whose replies are stored by request.

    use: ask the model for what is missing. replay: never ask. off: always ask, store nothing. Refusals and cut-off
    replies are stored too, because asking again changes the messages and so the key. `at_once` bounds the calls that
    are asked and not yet stored, which is all that a killed run can lose.
    """

    def __init__(self, model: LanguageModel, *, store: ReplyStore, mode: CacheMode, at_once: int | None = None) -> None:
        self._model = model
        self._store = store
        self._mode: CacheMode = mode
        self._limit = nullcontext() if at_once is None else asyncio.Semaphore(at_once)
        self._locks: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """The stored reply, marked as repeated, or a new one. Raises EndpointError when a replay lacks it."""
        if self._mode == "off":
            return await self._model.complete(request)
        key = request_key(request)
        # One lock per request and loop: who asks for the same at the same time waits, and then finds the reply stored.
        # If the one who asks is cancelled, the next one asks.
        lock = self._locks.setdefault((id(asyncio.get_running_loop()), key), asyncio.Lock())
        async with lock:
            stored = await self._stored(key)
            if stored is not None:
                return stored
            if self._mode == "replay":
                raise EndpointError(_missing_reply(request.labels))
            async with self._limit:
                return await shielded(self._ask(request, key=key))

    async def _stored(self, key: str) -> ModelReply | None:
        value = await self._store.get(key)
        return None if value is None else replace(REPLY.validate_json(value), repeated=True)

    async def _ask(self, request: ModelRequest, *, key: str) -> ModelReply:
        reply = await self._model.complete(request)
        content = REPLY.dump_json(replace(reply, repeated=False), exclude=NOT_STORED)
        await self._store.put(key, content, extra={"model": request.model, "at": time.time()})
        # Another process may have stored its reply first; using that one keeps a later replay true to this run.
        stored = await self._stored(key)
        about_the_call = {name: getattr(reply, name) for name in NOT_STORED}
        return replace(stored or reply, repeated=reply.repeated, **about_the_call)


def request_key(request: ModelRequest) -> str:
    """The identity of a request: everything in it but its labels."""
    identity = {name: value for name, value in vars(request).items() if name != "labels"}
    identity["messages"] = [vars(message) for message in request.messages]
    if request.temperature is not None:
        identity["temperature"] = float(request.temperature)
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _missing_reply(labels: CallLabels) -> str:
    return (
        f"The reply cache has no reply to prompt {labels.prompt!r} at stage {labels.stage!r} for user {labels.user_id!r}, "
        "and a replay asks no model; run once with the cache in use and a model endpoint to record it."
    )
