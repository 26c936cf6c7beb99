"""The provider's Batch API: its files and jobs, and the JSONL lines in them. No job is ever made twice."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from pydantic import BaseModel, ValidationError

from assets.llm.ports import BATCH_SHARE, EndpointError, ModelReply, ModelRequest
from assets.records.json_text import JsonError, mended_json, parse_json
from assets.records.limits import MB
from pipelines.bounded_http import BodyTooLarge
from pipelines.resources.llm.batch.settings import ASK_LIVE
from pipelines.resources.llm.chat_completion import read_reply
from pipelines.resources.llm.compatibility import ApiCompatibility
from pipelines.resources.llm.connection import MOST_BYTES, EndpointConnection
from pipelines.resources.llm.errors import ErrorResponse, FailureClassifier
from pipelines.resources.llm.retry import RUN_AGAIN, CallFailure, RetryBudget
from pipelines.resources.llm.settings import EndpointSettings

if TYPE_CHECKING:
    from openai.types import Batch

T = TypeVar("T")
URL = "/v1/chat/completions"
JOB_KEY = "amemgym_batch"  # the metadata by which a job is found again
TRANSFER = 10  # files may take this many times as long as a call
MOST_FILE_BYTES = 512 * MB  # of results; a full job's are a tenth of that
NOT_FOUND = {404, 405, 501}
TRY_LATER = {"token_limit_exceeded", "rate_limit_exceeded", "server_error", "internal_error"}
NOT_GOT_TO = ("expired", "cancel", "timeout")  # in the code of a line that the provider did not work on
KEPT = f"the other replies are kept; {RUN_AGAIN}, or {ASK_LIVE}"
LOST = CallFailure("transient", "ended a batch job without an answer to one of its lines", KEPT)
NOT_DONE = CallFailure("transient", "did not get to one of a batch job's lines in time", KEPT, turned_away=True)


class NotFound(Exception):
    """The provider does not know what was asked for."""


class BatchClient:
    """One event loop's client of the Batch API. `example` is one of the job's requests; errors name its model.

    Raises EndpointError with one sentence when no further try makes sense.
    """

    def __init__(self, connection: EndpointConnection, settings: EndpointSettings, *, example: ModelRequest) -> None:
        self._connection = connection
        self._settings = settings
        self._example = example
        self._failures = FailureClassifier(settings)
        self._redactor = settings.redactor

    @property
    def address(self) -> str:
        """The endpoint's address, fit for a message."""
        return self._settings.address

    def redact(self, text: str) -> str:
        """The provider's words, fit for a message."""
        return self._redactor.clean(text)

    async def send(self, content: bytes, *, key: str) -> "Batch":
        """Upload the input file and make the job, once: whenever an answer is lost, the job is looked for first."""
        files = self._connection.client.files
        with self._needs_batch_api():
            upload = await self._retry(lambda: files.create(file=("batch.jsonl", content), purpose="batch"), times=TRANSFER)
            retries = self._retry_budget()
            while True:
                outcome = await self._try_once(lambda: self._create(upload.id, key))
                if not isinstance(outcome, CallFailure):
                    return outcome
                await self._wait_after(_while_the_file_settles(outcome), retries)
                batch = await self.find(key, file_id=upload.id)
                if batch is not None:
                    return batch
        raise AssertionError("unreachable: a missing API raises")

    async def find(self, key: str, *, file_id: str = "") -> "Batch | None":
        """The job with this key, or of this input file, if the provider has it."""
        with self._needs_batch_api():
            return await self._retry(lambda: self._search(key, file_id=file_id))
        raise AssertionError("unreachable: a missing API raises")

    async def retrieve(self, batch_id: str) -> "Batch":
        """The job as it is now. Raises NotFound."""
        return await self._retry(lambda: self._connection.client.batches.retrieve(batch_id))

    async def read(self, file_id: str) -> bytes:
        """The content of a file. Raises NotFound when the provider has deleted it."""
        answer = await self._retry(lambda: self._connection.client.files.content(file_id), times=TRANSFER)
        return answer.content

    async def _create(self, file_id: str, key: str) -> "Batch":
        create = self._connection.client.batches.create
        return await create(input_file_id=file_id, endpoint=URL, completion_window="24h", metadata={JOB_KEY: key})

    async def _search(self, key: str, *, file_id: str) -> "Batch | None":
        async for batch in self._connection.client.batches.list(limit=100):
            # A provider that keeps no metadata has the file all the same.
            if (batch.metadata or {}).get(JOB_KEY) == key or (file_id and batch.input_file_id == file_id):
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
        message = f"The model endpoint {address} has no Batch API; {ASK_LIVE}."
        self._connection.stop.set(message)
        raise EndpointError(message)

    async def _retry(self, call: Callable[[], Awaitable[T]], *, times: int = 1) -> T:
        retries = self._retry_budget()
        while True:
            outcome = await self._try_once(call, times=times)
            if not isinstance(outcome, CallFailure):
                return outcome
            await self._wait_after(outcome, retries)

    def _retry_budget(self) -> RetryBudget:
        return RetryBudget(self._example, backoff_seconds=self._settings.backoff_seconds)

    async def _wait_after(self, failure: CallFailure, retries: RetryBudget) -> None:
        stop = self._connection.stop
        delay = retries.next_delay(failure, served=True)
        if delay is not None:
            return await stop.sleep(delay)
        stop.set(f"The model endpoint {self._settings.address} {failure.problem} at a batch job; {failure.remedy}.")
        return stop.check()

    async def _try_once(self, call: Callable[[], Awaitable[T]], *, times: int = 1) -> T | CallFailure:
        import openai  # late, as where the client is made

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
            return self._failures.of_connection(error.__cause__ or error)
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

    @property
    def named_model(self) -> object:
        """The name that the reply bears, if any."""
        body: object = self.response and self.response.body
        return cast(dict[str, object], body).get("model") if isinstance(body, dict) else None

    def reply(self) -> ModelReply | None:
        """The reply, where there is one."""
        if self.response is None or self.response.status_code != 200:
            return None
        body = json.dumps(self.response.body).encode()
        reply = read_reply(body) if len(body) <= MOST_BYTES else None
        return replace(reply, price_share=BATCH_SHARE) if isinstance(reply, ModelReply) else None

    def failure(self, request: ModelRequest, failures: FailureClassifier) -> CallFailure:
        """Return the failure of a line without a reply."""
        if self.response is None:
            return NOT_DONE
        if self.response.status_code != 200:
            return failures.of_error(ErrorResponse.of(self.response.status_code, self.response.body), request=request)
        body = json.dumps(self.response.body).encode()
        if len(body) > MOST_BYTES:
            return failures.of_too_large(BodyTooLarge(MOST_BYTES))
        answer = read_reply(body)
        return LOST if isinstance(answer, ModelReply) else failures.of_no_reply(answer, request=request)


def input_line(request: ModelRequest, *, custom_id: str, compatibility: ApiCompatibility) -> str:
    """The request as a line of an input file, without the line's end."""
    line = {"custom_id": custom_id, "method": "POST", "url": URL, "body": compatibility.body(request)}
    return json.dumps(line, ensure_ascii=False, separators=(",", ":"))


def split_lines(lines: Mapping[str, str], *, most_lines: int, most_bytes: int) -> Iterator[dict[str, str]]:
    """The lines by their ids, split so that each part fits into one job."""
    part = dict[str, str]()
    size = 0
    for custom_id, line in sorted(lines.items()):
        length = len(line.encode()) + 1
        if part and (len(part) >= most_lines or size + length > most_bytes):
            yield part
            part = {}
            size = 0
        part[custom_id] = line
        size += length
    if part:
        yield part


def read_results(files: Iterable[bytes]) -> dict[str, BatchResult]:
    """Results by the ids of their lines. A line that is no result is left out, and so counts as lost.

    Of an id that is there twice the first reply counts: nothing that came later takes away what was paid for.
    """
    results: dict[str, BatchResult] = {}
    for content in files:
        for row in content.split(b"\n"):
            result = _result(row)
            if result is None:
                continue
            known = results.get(result.custom_id)
            if known is None or known.reply() is None:
                results[result.custom_id] = result
    return results


def _result(row: bytes) -> BatchResult | None:
    try:
        fields: object = parse_json(mended_json(row))
        return BatchResult.model_validate(_in_openais_form(fields))
    except (JsonError, ValidationError):
        return None


def _in_openais_form(fields: object) -> Any:
    """Return a line with a status and a body, as OpenAI has them; other services leave out one or the other."""
    if not isinstance(fields, dict):
        return fields
    line = cast(dict[str, Any], fields)
    response = line.get("response")
    if response is None:
        return {**line, "response": _of_error(line.get("error"))}
    if not isinstance(response, dict):
        return line
    answer = cast(dict[str, Any], response)
    if "body" not in answer and "status_code" not in answer:
        answer = {"body": answer}
    body: object = answer.get("body")
    if isinstance(body, str):
        with suppress(JsonError):
            body = parse_json(body)
    status = answer.get("status_code")
    if status is None:
        names = set(cast(dict[str, Any], body)) if isinstance(body, dict) else set[str]()
        status = 400 if "error" in names and "choices" not in names else 200
    plain: dict[str, Any] = {"status_code": status, "body": body}
    return {**line, "response": plain}


def _of_error(error: object) -> dict[str, object] | None:
    """Return the answer that an error beside the response means; None for a line that was not reached."""
    code = str(cast(dict[str, Any], error).get("code") or "") if isinstance(error, dict) else ""
    if not code or any(word in code for word in NOT_GOT_TO):
        return None
    return {"status_code": 500 if code in TRY_LATER else 400, "body": {"error": error}}
