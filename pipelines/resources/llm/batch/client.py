"""The provider's Batch API: its files and jobs, and the JSONL lines in them. No job is ever made twice."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar, cast

import httpx2
import openai
from openai.types import Batch
from pydantic import BaseModel, ValidationError

from assets.llm.ports import BATCH_SHARE, EndpointError, ModelReply, ModelRequest
from pipelines.resources.llm.client import read_reply
from pipelines.resources.llm.compatibility import ApiCompatibility
from pipelines.resources.llm.connection import EndpointConnection
from pipelines.resources.llm.errors import FailureClassifier
from pipelines.resources.llm.redaction import Redactor
from pipelines.resources.llm.retry import MAX_BACKOFF, MAX_TRIES, CallFailure
from pipelines.resources.llm.settings import EndpointSettings

T = TypeVar("T")
URL = "/v1/chat/completions"
JOB_KEY = "amemgym_batch"  # the metadata by which a job is found again
TRANSFER = 10  # files may take this many times as long as a call
NOT_FOUND = {404, 405, 501}
LOST = CallFailure("transient", "ended a batch job without an answer to one of its lines")
NOT_DONE = CallFailure("transient", "did not get to one of a batch job's lines in time")


class NotFound(Exception):
    """The provider does not know what was asked for."""


class BatchClient:
    """One event loop's client of the Batch API. `example` is one of the job's requests; errors name its model.

    Raises EndpointError with one sentence when no further try makes sense.
    """

    def __init__(self, connection: EndpointConnection, settings: EndpointSettings, *, example: ModelRequest) -> None:
        self._connection, self._settings, self._example = connection, settings, example
        self._failures = FailureClassifier(settings)
        self._redactor = Redactor(settings.api_key.get_secret_value() if settings.api_key else "")

    @property
    def address(self) -> str:
        """The endpoint's address, fit for a message."""
        return self._settings.address

    def redact(self, text: str) -> str:
        """The provider's words, fit for a message."""
        return self._redactor.clean(text)

    async def send(self, content: bytes, *, key: str) -> Batch:
        """Upload the input file and make the job, once: whenever an answer is lost, the job is looked for first."""
        files = self._connection.client.files
        with self._needs_batch_api():
            upload = await self._retry(lambda: files.create(file=("batch.jsonl", content), purpose="batch"), times=TRANSFER)
            for tried in range(MAX_TRIES):
                outcome = await self._once(lambda: self._create(upload.id, key))
                if not isinstance(outcome, CallFailure):
                    return outcome
                await self._wait_after(_while_the_file_settles(outcome), tried=tried)
                batch = await self.find(key)
                if batch is not None:
                    return batch
        raise AssertionError("unreachable: the last try returns or raises")

    async def find(self, key: str) -> Batch | None:
        """The job with this key, if the provider has it."""
        with self._needs_batch_api():
            return await self._retry(lambda: self._search(key))
        raise AssertionError("unreachable: a missing API raises")

    async def retrieve(self, batch_id: str) -> Batch:
        """The job as it is now. Raises NotFound."""
        return await self._retry(lambda: self._connection.client.batches.retrieve(batch_id))

    async def read(self, file_id: str) -> bytes:
        """The content of a file. Raises NotFound when the provider has deleted it."""
        answer = await self._retry(lambda: self._connection.client.files.content(file_id), times=TRANSFER)
        return answer.content

    async def _create(self, file_id: str, key: str) -> Batch:
        create = self._connection.client.batches.create
        return await create(input_file_id=file_id, endpoint=URL, completion_window="24h", metadata={JOB_KEY: key})

    async def _search(self, key: str) -> Batch | None:
        async for batch in self._connection.client.batches.list(limit=100):
            if (batch.metadata or {}).get(JOB_KEY) == key:
                return batch
        return None

    @contextmanager
    def _needs_batch_api(self) -> Generator[None]:
        try:
            yield
            return
        except NotFound:
            address = self._settings.address
        # Outside of the handler, so that the provider's words do not come along as the context.
        message = f"The model endpoint {address} has no Batch API; set the transport of the recipe's models to live."
        self._connection.stop.set(message)
        raise EndpointError(message)

    async def _retry(self, call: Callable[[], Awaitable[T]], *, times: int = 1) -> T:
        tried = 0
        while isinstance(outcome := await self._once(call, times=times), CallFailure):
            await self._wait_after(outcome, tried=tried)
            tried += 1
        return outcome

    async def _wait_after(self, failure: CallFailure, *, tried: int) -> None:
        stop = self._connection.stop
        if failure.kind == "transient" and tried < MAX_TRIES - 1:
            growing = min(2**tried, MAX_BACKOFF) * self._settings.backoff_seconds
            return await stop.sleep(max(failure.retry_after, growing))
        stop.set(f"The model endpoint {self._settings.address} {failure.problem} at a batch job; {failure.remedy}.")
        return stop.check()

    async def _once(self, call: Callable[[], Awaitable[T]], *, times: int = 1) -> T | CallFailure:
        # As in ModelClient, failures are returned so that no exception carries the provider's words along.
        self._connection.stop.check()
        try:
            async with asyncio.timeout(self._settings.timeout_seconds * times):
                answer = await call()
                # The client hands out a page of HTML, say of a proxy, as text.
                return self._failures.of_unreadable_answer() if isinstance(answer, str) else answer
        except TimeoutError:
            return self._failures.of_timeout()
        except openai.APIConnectionError as error:
            return self._failures.of_connection(error)
        except openai.APIResponseValidationError:
            return self._failures.of_unreadable_answer()
        except openai.APIStatusError as error:
            if error.status_code not in NOT_FOUND:
                return self._failures.of_status(error, request=self._example)
        raise NotFound


def _while_the_file_settles(failure: CallFailure) -> CallFailure:
    """A file is not always found at once after its upload."""
    text = f"{failure.rejection.param} {failure.rejection.text}".lower()
    return CallFailure("transient", failure.problem) if failure.kind == "rejected" and "file" in text else failure


class _Response(BaseModel):
    status_code: int
    body: Any = None


class BatchResult(BaseModel):
    """One line of an output or error file."""

    custom_id: str
    response: _Response | None = None

    def reply(self) -> ModelReply | None:
        """The reply, where there is one."""
        if self.response is None or self.response.status_code != 200:
            return None
        reply = read_reply(json.dumps(self.response.body).encode())
        return reply and replace(reply, price_share=BATCH_SHARE)

    def failure(self, request: ModelRequest, failures: FailureClassifier) -> CallFailure:
        """What went wrong where there is no reply."""
        if self.response is None:
            return NOT_DONE
        if self.response.status_code == 200:
            return failures.of_unreadable_answer()
        return failures.of_status(_as_status_error(self.response), request=request)


def input_line(request: ModelRequest, *, custom_id: str, compatibility: ApiCompatibility) -> str:
    """The request as a line of an input file, without the line's end."""
    line = {"custom_id": custom_id, "method": "POST", "url": URL, "body": compatibility.body(request)}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def split_lines(lines: Mapping[str, str], *, most_lines: int, most_bytes: int) -> Iterator[dict[str, str]]:
    """The lines by their ids, split so that each part fits into one job."""
    part, size = dict[str, str](), 0
    for custom_id, line in sorted(lines.items()):
        length = len(line.encode()) + 1
        if part and (len(part) >= most_lines or size + length > most_bytes):
            yield part
            part, size = {}, 0
        part[custom_id] = line
        size += length
    if part:
        yield part


def read_results(files: Iterable[bytes]) -> dict[str, BatchResult]:
    """Results by the ids of their lines. A line that is no result is left out, and so counts as lost."""
    results: dict[str, BatchResult] = {}
    for content in files:
        for row in content.split(b"\n"):
            try:
                result = BatchResult.model_validate_json(row)
            except ValidationError:
                continue
            results[result.custom_id] = result
    return results


def _as_status_error(response: _Response) -> openai.APIStatusError:
    """The error that the client would have raised for the same answer to a call of its own."""
    body: object = response.body
    error = cast(dict[str, object], body).get("error") if isinstance(body, dict) else None
    answer = httpx2.Response(response.status_code, request=httpx2.Request("POST", f"http://batch{URL}"))
    return openai.APIStatusError("", response=answer, body=error)
