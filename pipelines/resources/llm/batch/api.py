"""The provider's Batch API: files and jobs, asked until an answer comes, and a job never made twice."""

import asyncio
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TypeVar

import openai
from openai.types import Batch

from assets.llm.ports import EndpointError, ModelRequest
from pipelines.resources.llm.batch.jsonl import URL
from pipelines.resources.llm.connection import Lane
from pipelines.resources.llm.errors import Diagnosis, Trouble
from pipelines.resources.llm.redaction import Redactor
from pipelines.resources.llm.retry import LONGEST_BACKOFF, MOST_TRIES
from pipelines.resources.llm.settings import EndpointSettings

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
        self._redactor = Redactor(settings.api_key.get_secret_value() if settings.api_key else "")

    @property
    def place(self) -> str:
        """The endpoint's address, fit for a message."""
        return self._settings.place

    def cleaned(self, text: str) -> str:
        """The provider's words, fit for a message."""
        return self._redactor.clean(text)

    async def send(self, content: bytes, *, key: str) -> Batch:
        """Upload the input file and make the job, once: whenever an answer is lost, the job is looked for first."""
        files = self._lane.client.files
        with self._offered():
            upload = await self._insist(lambda: files.create(file=("batch.jsonl", content), purpose="batch"), times=TRANSFER)
            for tried in range(MOST_TRIES):
                outcome = await self._once(lambda: self._create(upload.id, key))
                if not isinstance(outcome, Trouble):
                    return outcome
                await self._rest_after(_while_the_file_settles(outcome), tried=tried)
                found = await self.find(key)
                if found is not None:
                    return found
        raise AssertionError("unreachable: the last try returns or raises")

    async def find(self, key: str) -> Batch | None:
        """The job with this key, if the provider has it."""
        with self._offered():
            return await self._insist(lambda: self._search(key))
        raise AssertionError("unreachable: what is not offered raises")

    async def look(self, batch_id: str) -> Batch:
        """The job as it is now. Raises Missing."""
        return await self._insist(lambda: self._lane.client.batches.retrieve(batch_id))

    async def read(self, file_id: str) -> bytes:
        """A file's content. Raises Missing."""
        answer = await self._insist(lambda: self._lane.client.files.content(file_id), times=TRANSFER)
        return answer.content

    async def _create(self, file_id: str, key: str) -> Batch:
        create = self._lane.client.batches.create
        return await create(input_file_id=file_id, endpoint=URL, completion_window="24h", metadata={KEY: key})

    async def _search(self, key: str) -> Batch | None:
        async for batch in self._lane.client.batches.list(limit=100):
            if (batch.metadata or {}).get(KEY) == key:
                return batch
        return None

    @contextmanager
    def _offered(self) -> Generator[None]:
        try:
            yield
            return
        except Missing:
            place = self._settings.place
        # Outside of the handler, so that the provider's words do not come along as the context.
        missing = f"The model endpoint {place} has no Batch API; set the transport of the recipe's models to live."
        self._lane.halt.call(missing)
        raise EndpointError(missing)

    async def _insist(self, call: Callable[[], Awaitable[T]], *, times: int = 1) -> T:
        tried = 0
        while isinstance(outcome := await self._once(call, times=times), Trouble):
            await self._rest_after(outcome, tried=tried)
            tried += 1
        return outcome

    async def _rest_after(self, trouble: Trouble, *, tried: int) -> None:
        if trouble.kind == "transient" and tried < MOST_TRIES - 1:
            growing = min(2**tried, LONGEST_BACKOFF) * self._settings.backoff_seconds
            return await self._lane.halt.rest(max(trouble.wait, growing))
        self._lane.halt.call(f"The model endpoint {self._settings.place} {trouble.what} at a batch job; {trouble.remedy}.")
        return self._lane.halt.check()

    async def _once(self, call: Callable[[], Awaitable[T]], *, times: int = 1) -> T | Trouble:
        # As at the endpoint, troubles are returned so that no exception carries the provider's words along.
        self._lane.halt.check()
        try:
            async with asyncio.timeout(self._settings.timeout_seconds * times):
                answer = await call()
                # The client hands out a page of HTML, say of a proxy, as text.
                return self._diagnosis.of_strange_answer() if isinstance(answer, str) else answer
        except TimeoutError:
            return self._diagnosis.of_timeout()
        except openai.APIConnectionError as error:
            return self._diagnosis.of_connection(error)
        except openai.APIResponseValidationError:
            return self._diagnosis.of_strange_answer()
        except openai.APIStatusError as error:
            if error.status_code not in NOT_THERE:
                return self._diagnosis.of_status(error, request=self._about)
        raise Missing


def _while_the_file_settles(trouble: Trouble) -> Trouble:
    """A file is not always found at once after its upload."""
    said = f"{trouble.objection.param} {trouble.objection.text}".lower()
    return Trouble("transient", trouble.what) if trouble.kind == "rejected" and "file" in said else trouble
