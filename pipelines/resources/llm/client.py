"""The LanguageModel port over any OpenAI-compatible endpoint. Retries, compatibility and limits are ours, not openai's."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, NoReturn

import httpx2
import openai
from pydantic import BaseModel, Field, ValidationError

from assets.llm.ports import EndpointError, FinishReason, ModelReply, ModelRequest, RequestFailed, Then, as_it_is
from assets.llm.structured_output import is_rubbish
from pipelines.resources.llm.compatibility import ApiCompatibility, LearnedCompatibility
from pipelines.resources.llm.concurrency import ConcurrencyLimit
from pipelines.resources.llm.connection import Connections, EndpointConnection
from pipelines.resources.llm.errors import FailureClassifier
from pipelines.resources.llm.rate_limit import LearnedLimit, LocalRateLimiter, RateLimiter
from pipelines.resources.llm.retry import MAX_SECONDS, SEVERAL_USERS, CallFailure, RetryBudget
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
        self._learned_limits: defaultdict[str, LearnedLimit] = defaultdict(LearnedLimit)
        self.compatibility = LearnedCompatibility()

    async def complete(self, request: ModelRequest, *, then: Then = as_it_is) -> ModelReply:
        """Ask until a reply comes. Raises RequestFailed for a request that is not served, EndpointError to end the run.

        `then` stores the reply while the call still holds its slot: a reply is durable before the next call begins.
        """
        connection = await self._connections.current()
        with connection.watch.waiting():
            return await self._complete(request, connection=connection, then=then)

    async def _complete(self, request: ModelRequest, *, connection: EndpointConnection, then: Then) -> ModelReply:
        retries = RetryBudget(request, backoff_seconds=self._settings.backoff_seconds, counts=connection.counts)
        while True:
            compatibility = self.compatibility.of(request.model)
            outcome = await self._try(retries, connection=connection, compatibility=compatibility, then=then)
            if isinstance(outcome, ModelReply):
                return outcome
            if outcome.kind == "refused":
                return await then(ModelReply(text="", finish="refusal", input_tokens=0, output_tokens=0))
            if outcome.kind == "rejected" and self.compatibility.learn(outcome.rejection, request=request, sent=compatibility):
                continue
            delay = retries.next_delay(outcome, served=connection.served)
            if delay is None:
                message = retries.error_message(outcome, endpoint=self._settings.address)
                give_up(connection, request, outcome, message=message)
            retries.seconds += delay
            await connection.stop.sleep(delay)

    async def close(self) -> None:
        """Close the running loop's connections now; without this, a loop closes them when it shuts down."""
        await self._connections.close_current()

    async def _wait_for_turn(self, model: str, *, connection: EndpointConnection) -> None:
        limit = self._learned_limits[model]
        if limit.holds:
            async with connection.turns[model]:
                while limit.wait:
                    await connection.stop.sleep(limit.wait)
                limit.take_turn()

    async def _try(
        self, retries: RetryBudget, *, connection: EndpointConnection, compatibility: ApiCompatibility, then: Then
    ) -> ModelReply | CallFailure:
        connection.stop.check()
        model = retries.request.model
        await self._wait_for_turn(model, connection=connection)
        acquired = await connection.limit.acquire()
        probe, failed = False, None
        try:
            probe = await connection.breaker.admit(tries=retries.tries)
            await connection.stop.sleep(await self._rate_limiter.reserve(retries.request))
            began = time.monotonic()
            outcome = await self._send(retries.request, client=connection.client, compatibility=compatibility)
            took = time.monotonic() - began
            retries.seconds += took
            if isinstance(outcome, ModelReply):
                # Words that no reader accepts are no sign of health, but they were paid for and go to the caller.
                failed = is_rubbish(retries.request, outcome)
                connection.served = True
                if not failed:
                    connection.counts.note_answer()
                    connection.watch.answered()
                connection.given_up.answered(retries.request)
                connection.limit.succeeded()
                await self._rate_limiter.settle(retries.request, reply=outcome)
                return await then(replace(outcome, seconds=took))
            connection.watch.failed(outcome)
            if outcome.limited:
                self._learned_limits[model].limited(sent_at=began, retry_after=min(outcome.retry_after, MAX_SECONDS))
                return outcome
            failed = outcome.kind == "transient"
            if failed:
                connection.counts.note_failure(retries.request, sent_at=began)
            if failed and retries.others_passed:
                failed = None
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
        reply = read(response.content)
        if reply is not None:
            self._learned_limits[request.model].answered(request, headers=response.headers)
            return reply
        if looks_like_completion(response.content):
            return self._failures.of_unusable_completion()
        return self._failures.of_unreadable_answer()


def give_up(connection: EndpointConnection, request: ModelRequest, failure: CallFailure, *, message: str) -> NoReturn:
    """Raise RequestFailed for a request whose fault may be its own; else end the run, also when several users fail alike."""
    nowhere = failure.misdirected and not connection.served
    if failure.own and not nowhere and connection.given_up.count(request, failure) < SEVERAL_USERS:
        raise RequestFailed(message)
    connection.stop.set(message)
    raise EndpointError(message)


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


MOST_TOKENS = 10**9  # in one call; a usage beyond it is no count, and no database could hold sums of it
Tokens = Annotated[int, Field(ge=0, le=MOST_TOKENS)]


class _CompletionUsage(BaseModel):
    prompt_tokens: Tokens | None = None
    completion_tokens: Tokens | None = None
    prompt_tokens_details: _InputDetails | None = None


class _Completion(BaseModel):
    choices: list[_CompletionChoice]
    usage: _CompletionUsage | None = None


class _Choices(BaseModel):
    choices: list[object]


def looks_like_completion(body: bytes) -> bool:
    """Whether the body has choices, so that whoever sent it speaks the chat API."""
    try:
        return bool(_Choices.model_validate_json(body).choices)
    except ValidationError:
        return False


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
