"""Which place serves a model: part of the identity of calls and runs, because a model's name alone says little."""

import asyncio
import json
import logging
from typing import Any

import httpx2
from pydantic import BaseModel, ConfigDict, ValidationError

from pipelines.resources.cache.reply_cache import TABLE
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.key_value import KeyValueStore

SECONDS = 10.0
# What `/models` may say that changes with the model and with nothing else: no clock, no price, no load.
TELLING = ("owned_by", "root", "parent", "revision", "digest", "sha256", "quantization", "meta")
LOG = logging.getLogger(__name__)


class _Listing(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)

    data: list[dict[str, Any]]


class EndpointPlace:
    """The Place port over an endpoint: its address without secrets, and what its `/models` says of the model.

    It is asked once per process. Where it does not answer, what was known when the latest reply of the model was stored counts.
    """

    def __init__(self, settings: EndpointSettings, *, replies: KeyValueStore, ask: bool = True) -> None:
        self._settings, self._replies, self._ask = settings, replies, ask
        self._places: dict[str, str] = {}
        self._listed: dict[str, str] | None = None
        self._asking: asyncio.Task[dict[str, str] | None] | None = None

    @property
    def address(self) -> str:
        return self._settings.address

    async def of(self, model: str) -> str:
        """The address, and what is known of the model there."""
        if model not in self._places:
            if self._listed is None and self._ask:
                self._listed = await self._list_once()
            listed = None if self._listed is None else self._listed.get(model, "")
            self._places.setdefault(model, await self._latest(model) if listed is None else f"{self.address} {listed}".strip())
        return self._places[model]

    async def _list_once(self) -> dict[str, str] | None:
        """The listing that one question brings, however many calls begin at the same time."""
        loop = asyncio.get_running_loop()
        if self._asking is None or self._asking.get_loop() is not loop:
            self._asking = loop.create_task(self._list())
        return await asyncio.shield(self._asking)

    async def _list(self) -> dict[str, str] | None:
        """What `/models` says by model; None where it does not answer."""
        key = self._settings.api_key
        headers = {"Authorization": f"Bearer {key.get_secret_value()}"} if key else {}
        seconds = min(SECONDS, self._settings.timeout_seconds)
        try:
            async with asyncio.timeout(seconds), httpx2.AsyncClient(timeout=seconds, follow_redirects=True) as client:
                answer = await client.get(f"{self._settings.base_url.rstrip('/')}/models", headers=headers)
            entries = _Listing.model_validate_json(answer.content).data if answer.status_code == 200 else None
        except (httpx2.HTTPError, TimeoutError, ValidationError):
            entries = None
        return None if entries is None else {str(entry.get("id")): _telling(entry) for entry in entries}

    async def _latest(self, model: str) -> str:
        query = f"SELECT place FROM {TABLE} WHERE model = ? AND (place = ? OR place LIKE ?) ORDER BY at DESC LIMIT 1"
        wanted = (model, self.address, f"{self.address} {{%")
        row = await self._replies.run(lambda connection: connection.execute(query, wanted).fetchone())
        return row[0] if row else self.address


def _telling(entry: dict[str, Any]) -> str:
    """The entry's parts that tell which model it is, as JSON; empty without any."""
    parts = {name: entry[name] for name in TELLING if entry.get(name)}
    return json.dumps(parts, sort_keys=True, separators=(",", ":")) if parts else ""
