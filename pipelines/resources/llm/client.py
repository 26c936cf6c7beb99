"""The LanguageModel port over any OpenAI-compatible endpoint. Retries, compatibility and limits are ours, not openai's."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace

import httpx2
import openai
from pydantic import BaseModel, ValidationError

from assets.llm.ports import FinishReason, ModelReply, ModelRequest
from pipelines.resources.llm.compatibility import ApiCompatibility, LearnedCompatibility
from pipelines.resources.llm.concurrency import ConcurrencyLimit
from pipelines.resources.llm.connection import Connections, EndpointConnection
from pipelines.resources.llm.errors import FailureClassifier
from pipelines.resources.llm.rate_limit import LocalRateLimiter, RateLimiter
from pipelines.resources.llm.retry import CallFailure, RetryBudget
from pipelines.resources.llm.settings import EndpointSettings


class ModelClient:
    """Completes chats from any event loop.

    What it has learned of the models and its rate limiter outlive a loop; connections, and the error that ended a run,
    do not. Without a `rate_limiter` and `new_limit` (a concurrency limit for one event loop) this process limits itself.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        rate_limiter: RateLimiter | None = None,
        new_limit: Callable[[], ConcurrencyLimit] | None = None,
    ) -> None:
        self._settings = settings
        self._connections = Connections(settings, new_limit=new_limit)
        self._rate_limiter = rate_limiter or LocalRateLimiter(
            requests_per_minute=settings.requests_per_minute, tokens_per_minute=settings.tokens_per_minute
        )
        self._failures = FailureClassifier(settings)
        self.compatibility = LearnedCompatibility()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Ask until a reply comes. Raises EndpointError when no further call makes sense."""
        connection = await self._connections.current()
        retries = RetryBudget(request, backoff_seconds=self._settings.backoff_seconds)
        while True:
            compatibility = self.compatibility.of(request.model)
            outcome = await self._try(retries, connection=connection, compatibility=compatibility)
            if isinstance(outcome, ModelReply):
                return outcome
            if outcome.kind == "refused":
                return ModelReply(text="", finish="refusal", input_tokens=0, output_tokens=0)
            if outcome.kind == "rejected" and self.compatibility.learn(outcome.rejection, request=request, sent=compatibility):
                continue
            delay = retries.next_delay(outcome, served=connection.served)
            if delay is None:
                connection.stop.set(retries.error_message(outcome, endpoint=self._settings.address))
                connection.stop.check()
            else:
                retries.seconds += delay
                await connection.stop.sleep(delay)

    async def close(self) -> None:
        """Close the running loop's connections now; without this, a loop closes them when it shuts down."""
        await self._connections.close_current()

    async def _try(
        self, retries: RetryBudget, *, connection: EndpointConnection, compatibility: ApiCompatibility
    ) -> ModelReply | CallFailure:
        connection.stop.check()
        acquired = await connection.limit.acquire()
        probe, failed = False, None
        try:
            probe = await connection.breaker.admit()
            await connection.stop.sleep(await self._rate_limiter.reserve(retries.request))
            began = time.monotonic()
            outcome = await self._send(retries.request, client=connection.client, compatibility=compatibility)
            took = time.monotonic() - began
            retries.seconds += took
            failed = isinstance(outcome, CallFailure) and outcome.kind == "transient"
            if isinstance(outcome, ModelReply):
                connection.served = True
                connection.limit.succeeded()
                await self._rate_limiter.settle(retries.request, reply=outcome)
                return replace(outcome, seconds=took)
            if outcome.overloaded:
                connection.limit.overloaded(acquired)
            return outcome
        finally:
            connection.breaker.record(failed=failed, probe=probe)
            connection.limit.release()

    async def _send(
        self, request: ModelRequest, *, client: openai.AsyncOpenAI, compatibility: ApiCompatibility
    ) -> ModelReply | CallFailure:
        body = compatibility.body(request)
        return await self._post("/chat/completions", body, request=request, client=client, read=read_reply)

    async def _post(
        self,
        path: str,
        body: dict[str, object],
        *,
        request: ModelRequest,
        client: openai.AsyncOpenAI,
        read: Callable[[bytes], ModelReply | None],
    ) -> ModelReply | CallFailure:
        # Failures are returned, not raised from here: an exception that keeps openai's as its context would carry the
        # provider's words, and with them perhaps the key, into tracebacks.
        try:
            async with asyncio.timeout(self._settings.timeout_seconds):
                # `post` costs half of `chat.completions.create`, which copies and checks the whole request first.
                response = await client.post(path, cast_to=httpx2.Response, body=body)
        except TimeoutError:
            return self._failures.of_timeout()
        except openai.APIConnectionError as error:
            return self._failures.of_connection(error)
        except openai.APIStatusError as error:
            return self._failures.of_status(error, request=request)
        return read(response.content) or self._failures.of_unreadable_answer()


# The parts of a chat completion that are needed; the rest is not looked at.


class _ContentPart(BaseModel):
    text: str | None = None


class _Message(BaseModel):
    content: str | list[_ContentPart] | None = None
    refusal: str | None = None


class _CompletionChoice(BaseModel):
    message: _Message
    finish_reason: str | None = None


class _InputDetails(BaseModel):
    cached_tokens: int | None = None


class _CompletionUsage(BaseModel):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    prompt_tokens_details: _InputDetails | None = None


class _Completion(BaseModel):
    choices: list[_CompletionChoice]
    usage: _CompletionUsage | None = None


def read_reply(body: bytes) -> ModelReply | None:
    """The first choice; None when the body is not a chat completion with one."""
    try:
        completion = _Completion.model_validate_json(body)
    except ValidationError:
        return None
    if not completion.choices:
        return None
    choice, usage = completion.choices[0], completion.usage or _CompletionUsage()
    details = usage.prompt_tokens_details
    return ModelReply(
        text=choice.message.refusal or _text(choice.message.content),
        finish=_finish(choice),
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        cached_input_tokens=min(usage.prompt_tokens or 0, details.cached_tokens or 0) if details else 0,
    )


def _finish(choice: _CompletionChoice) -> FinishReason:
    if choice.message.refusal or choice.finish_reason == "content_filter":
        return "refusal"
    return "length" if choice.finish_reason == "length" else "stop"


def _text(content: str | list[_ContentPart] | None) -> str:
    # Some reasoning models answer in parts, where only the parts with text are the answer.
    return content if isinstance(content, str) else "".join(part.text or "" for part in content or [])
