"""The place that serves a model: part of the identity of calls and runs, because a model's name alone says little."""

import asyncio
import hashlib
import json
from collections.abc import Sequence
from typing import Any

import httpx2
from pydantic import BaseModel, ConfigDict, ValidationError

from assets.llm.ports import EndpointError
from assets.records.public_names import shared_model
from pipelines.bounded_http import BoundedAsyncClient, BoundedClient
from pipelines.network_route import NoRoute
from pipelines.resources.cache.reply_cache import TABLE
from pipelines.resources.llm.connection import MOST_BYTES
from pipelines.resources.llm.errors import FailureClassifier
from pipelines.resources.llm.retry import ENDS_THE_RUN
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.key_value import KeyValueStore

SECONDS = 10.0
# What `/models` may say that changes with the model and with nothing else: no clock, no price, no load.
IDENTITY_FIELDS = ("owned_by", "root", "parent", "revision", "digest", "sha256", "quantization", "meta")


class _Listing(BaseModel):
    model_config = ConfigDict(hide_input_in_errors=True)

    data: list[dict[str, Any]]


def check_reachable(settings: EndpointSettings) -> None:
    """Raise EndpointError where nobody answers at the address. Any answer will do, and so does one that takes its time."""
    if settings.transport is not None:
        return
    try:
        options = {**settings.route.client_options(), "headers": settings.sent_headers, "timeout": SECONDS}
        with BoundedClient(most_bytes=MOST_BYTES, **options) as client:
            client.get(f"{settings.root}/models", params=settings.query)
        return
    except NoRoute as error:
        sentence = f"cannot be asked. {error}"
    except httpx2.HTTPError as error:
        failure = FailureClassifier(settings).of_connection(error)
        if failure.kind not in ENDS_THE_RUN:
            return
        sentence = f"{failure.problem}; {failure.remedy}."
    # Outside of the handler: the library's error holds the request, with the key in it.
    raise EndpointError(f"The model endpoint {settings.address} {sentence}")


class EndpointPlace:
    """The Place port over an endpoint: its address without secrets, and what its `/models` says of the model.

    It is asked once per process. Where it does not answer, what was known when the latest reply of the model was stored counts.
    """

    def __init__(self, settings: EndpointSettings, *, replies: KeyValueStore, ask: bool = True) -> None:
        self._settings = settings
        self._replies = replies
        self._ask = ask
        self._places: dict[str, str] = {}
        self._listed: dict[str, str] | None = None
        self._asking: asyncio.Task[dict[str, str] | None] | None = None

    @property
    def address(self) -> str:
        return self._settings.address

    async def of(self, model: str) -> str:
        """Return the address, and what is known of the model there."""
        if model not in self._places:
            listed = await self._list_once()
            if listed is None:
                place = await self._latest(model)
            else:
                place = f"{self.address} {listed.get(model, '')}".strip()
            self._places.setdefault(model, place)  # another call may have found it meanwhile, and all have to agree
        return self._places[model]

    async def lacks(self, models: Sequence[str]) -> list[str]:
        """Return those of the models that its listing leaves out; none where it lists nothing."""
        listed = await self._list_once()
        return [model for model in models if model not in listed] if listed else []

    async def _list_once(self) -> dict[str, str] | None:
        """Return the listing; however many calls begin at the same time, the endpoint is asked once."""
        if self._listed is None and self._ask:
            self._listed = await self._ask_once()
        return self._listed

    async def _ask_once(self) -> dict[str, str] | None:
        loop = asyncio.get_running_loop()
        if self._asking is None or self._asking.get_loop() is not loop:
            self._asking = loop.create_task(self._list())
        return await asyncio.shield(self._asking)

    async def _list(self) -> dict[str, str] | None:
        """Return what `/models` says by model; None where it does not answer."""
        seconds = min(SECONDS, self._settings.timeout_seconds)
        try:
            async with asyncio.timeout(seconds), self._listing_client(seconds) as client:
                answer = await client.get(f"{self._settings.root}/models", params=self._settings.query)
            if answer.status_code != 200:
                return None
            entries = _Listing.model_validate_json(answer.content).data
        except (httpx2.HTTPError, NoRoute, TimeoutError, ValidationError):
            return None
        return {str(entry.get("id")): _identity_of(entry) for entry in entries}

    def _listing_client(self, seconds: float) -> BoundedAsyncClient:
        headers = self._settings.sent_headers
        options = self._settings.route.client_options()
        return BoundedAsyncClient(most_bytes=MOST_BYTES, headers=headers, timeout=seconds, follow_redirects=True, **options)

    async def _latest(self, model: str) -> str:
        """Return the place that the latest stored reply of the model has, else the address."""
        query = f"SELECT place FROM {TABLE} WHERE model = ? AND (place = ? OR place LIKE ?) ORDER BY at DESC LIMIT 1"
        wanted = (model, self.address, f"{self.address} {{%")
        row = await self._replies.run(lambda connection: connection.execute(query, wanted).fetchone())
        return row[0] if row else self.address


def _without_path(value: object) -> object:
    """Return the value; for a path of the server's machine, which is nobody's business, a digest that tells it from others."""
    if isinstance(value, str) and shared_model(value) != value:
        return hashlib.sha256(value.encode()).hexdigest()[:16]
    return value


def _identity_of(entry: dict[str, Any]) -> str:
    """Return the entry's fields that tell which model it is, as JSON; empty without any."""
    parts: dict[str, object] = {}
    for name in IDENTITY_FIELDS:
        if entry.get(name):
            parts[name] = _without_path(entry[name])
    return json.dumps(parts, sort_keys=True, separators=(",", ":")) if parts else ""
