"""The provider's Batch API: files and jobs, asked until an answer comes, and a job never made twice."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

import openai
from openai.types import Batch

from assets.ports import EndpointError, ModelRequest
from pipelines.resources.batch_lines import URL
from pipelines.resources.effort import LONGEST_BACKOFF, MOST_TRIES
from pipelines.resources.endpoint_settings import EndpointSettings
from pipelines.resources.errors import Diagnosis, Trouble
from pipelines.resources.lane import Lane

T = TypeVar("T")
KEY = "amemgym_batch"  # the metadata by which a job is found again
TRANSFER = 10  # files may take this many times as long as a call
NOT_THERE = {404, 405, 501}


class Missing(Exception):
    """The provider does not know what was asked for."""


class BatchOffice:
    """One event loop's way to the Batch API. `about` stands for the job's calls in what an error says.

    Raises EndpointError with one sentence when no further try makes sense.
    """

    def __init__(self, lane: Lane, settings: EndpointSettings, *, about: ModelRequest) -> None:
        self._lane, self._settings, self._about = lane, settings, about
        self._diagnosis = Diagnosis(settings)

    async def send(self, content: bytes, *, key: str) -> Batch:
        """Upload the input file and make the job, once: whenever an answer is lost, the job is looked for first."""
        files, batches = self._lane.client.files, self._lane.client.batches
        upload = await self._offered(lambda: files.create(file=("batch.jsonl", content), purpose="batch"))
        for tried in range(MOST_TRIES):
            outcome = await self._once(
                lambda: batches.create(
                    input_file_id=upload.id, endpoint=URL, completion_window="24h", metadata={KEY: key}
                )
            )
            if isinstance(outcome, Batch):
                return outcome
            await self._rest_after(_while_the_file_settles(outcome), tried=tried)
            found = await self.find(key)
            if found is not None:
                return found
        raise AssertionError("unreachable: the last try returns or raises")

    async def find(self, key: str) -> Batch | None:
        """The job with this key, if the provider has it."""
        return await self._offered(lambda: self._search(key))

    async def _search(self, key: str) -> Batch | None:
        async for batch in self._lane.client.batches.list(limit=100):
            if (batch.metadata or {}).get(KEY) == key:
                return batch
        return None

    async def look(self, batch_id: str) -> Batch:
        """The job as it is now. Raises Missing."""
        return await self._insist(lambda: self._lane.client.batches.retrieve(batch_id))

    async def read(self, file_id: str) -> bytes:
        """A file's content. Raises Missing."""
        return (await self._insist(lambda: self._lane.client.files.content(file_id))).content

    async def _offered(self, call: Callable[[], Awaitable[T]]) -> T:
        try:
            return await self._insist(call)
        except Missing:
            missing = f"The model endpoint {self._settings.place} has no Batch API; set the model's transport to live in the recipe."
        self._lane.halt.call(missing)
        raise EndpointError(missing)

    async def _insist(self, call: Callable[[], Awaitable[T]]) -> T:
        tried = 0
        while isinstance(outcome := await self._once(call), Trouble):
            await self._rest_after(outcome, tried=tried)
            tried += 1
        return outcome

    async def _rest_after(self, trouble: Trouble, *, tried: int) -> None:
        if trouble.kind == "transient" and tried < MOST_TRIES - 1:
            growing = min(2**tried, LONGEST_BACKOFF) * self._settings.backoff_seconds
            return await self._lane.halt.rest(max(trouble.wait, growing))
        self._lane.halt.call(f"The model endpoint {self._settings.place} {trouble.what} at a batch job; {trouble.remedy}.")
        return self._lane.halt.check()

    async def _once(self, call: Callable[[], Awaitable[T]]) -> T | Trouble:
        # As at the endpoint, troubles are returned so that no exception carries the provider's words along.
        self._lane.halt.check()
        try:
            async with asyncio.timeout(self._settings.timeout_seconds * TRANSFER):
                return await call()
        except TimeoutError:
            return self._diagnosis.of_timeout()
        except openai.APIConnectionError as error:
            return self._diagnosis.of_connection(error)
        except openai.APIStatusError as error:
            if error.status_code not in NOT_THERE:
                return self._diagnosis.of_status(error, request=self._about)
        raise Missing


def _while_the_file_settles(trouble: Trouble) -> Trouble:
    """A file is not always found at once after its upload."""
    said = f"{trouble.objection.param} {trouble.objection.text}".lower()
    return Trouble("transient", trouble.what) if trouble.kind == "rejected" and "file" in said else trouble
