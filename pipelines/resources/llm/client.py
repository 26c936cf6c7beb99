"""The LanguageModel port over HTTP, whatever API the endpoint has. Retries, compatibility and limits are ours, not openai's."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import httpx2

from assets.llm.ports import UNBOOKED, CallBooking, ModelReply, ModelRequest
from assets.records.json_text import mended_json
from pipelines.resources.llm.compatibility import ApiCompatibility, LearnedCompatibility
from pipelines.resources.llm.connection import Connections, EndpointConnection
from pipelines.resources.llm.errors import FailureClassifier
from pipelines.resources.llm.limits.rate_limit import LocalRateLimiter, RateLimiter
from pipelines.resources.llm.model_api import ModelApi, OpenAiChat
from pipelines.resources.llm.retry import CallFailure, RetryBudget
from pipelines.resources.llm.settings import EndpointSettings

if TYPE_CHECKING:
    import openai

REFUSAL = ModelReply(text="", finish="refusal", input_tokens=0, output_tokens=0)
TOO_LONG = replace(REFUSAL, finish="length")


class ModelClient:
    """Asks models from any event loop, by the `api` of the endpoint: OpenAI's chat completions where none is given.

    What it has learned of the models and its rate limiter outlive a loop; connections, and the error that ended a run,
    do not. Without a `rate_limiter` this process limits itself.
    """

    def __init__(
        self,
        settings: EndpointSettings,
        *,
        api: ModelApi | None = None,
        rate_limiter: RateLimiter | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._api = api or OpenAiChat()
        self._connections = Connections(settings, most_bytes=self._api.most_bytes)
        self._rate_limiter = rate_limiter or LocalRateLimiter(
            requests_per_minute=settings.requests_per_minute, tokens_per_minute=settings.tokens_per_minute
        )
        self._failures = FailureClassifier(settings)
        self.compatibility = LearnedCompatibility(settings.address)

    async def complete(self, request: ModelRequest, *, booking: CallBooking = UNBOOKED) -> ModelReply:
        """Ask until a reply comes. Raises RequestFailed for a request that is not served, EndpointError to end the run."""
        connection = await self._connections.current()
        retries = RetryBudget(request, backoff_seconds=self._settings.backoff_seconds)
        with connection.health.watch_call():
            while True:
                outcome = await self._ask_in_slot(retries, connection=connection, booking=booking)
                if isinstance(outcome, ModelReply):
                    return outcome
                await connection.stop.sleep(outcome)

    async def close(self) -> None:
        """Close the running loop's connections now; without this, a loop closes them when it shuts down."""
        await self._connections.close_current()

    async def _ask_in_slot(
        self, retries: RetryBudget, *, connection: EndpointConnection, booking: CallBooking
    ) -> ModelReply | float:
        """Ask in one slot of the concurrency limit. Return the reply, or the seconds to wait without a slot.

        A call keeps its slot while it waits for its next try: an endpoint that fails, or limits the rate of calls, does not get
        all the others' calls too. An overloaded one has fewer slots from now on, and the call waits for one of them.
        """
        request = retries.request
        acquired = await connection.limit.acquire(rank=request.labels.rank)
        lesson = self.compatibility.lesson_for(request.model)
        try:
            while True:
                outcome = await self._ask_once(retries, connection=connection, compatibility=lesson.now, booking=booking)
                if isinstance(outcome, ModelReply):
                    connection.limit.count_success()
                    self.compatibility.learn(lesson)
                    self.compatibility.note_reply(request, outcome, sent=lesson.now)
                    return await booking.keep(outcome)
                if outcome.kind == "refused":
                    return await booking.keep(REFUSAL)
                if outcome.kind == "too_long":
                    self.compatibility.note_too_long(request, outcome.problem)
                    return await booking.keep(TOO_LONG)
                if outcome.kind == "doubtful":
                    continue  # a few replies will tell
                if outcome.kind == "rejected" and lesson.take(outcome.rejection, request=request):
                    continue
                delay = retries.next_delay(outcome, served=connection.health.served)
                if delay is None:
                    message = retries.error_message(outcome, endpoint=self._settings.address)
                    connection.health.give_up(request, outcome, message=message)
                if outcome.overloaded:
                    connection.limit.halve_limit(acquired)
                    return delay
                if outcome.kind == "limited":
                    connection.limit.turned_away()
                await connection.stop.sleep(delay)
        finally:
            connection.limit.release()

    async def _ask_once(
        self,
        retries: RetryBudget,
        *,
        connection: EndpointConnection,
        compatibility: ApiCompatibility,
        booking: CallBooking,
    ) -> ModelReply | CallFailure:
        request = retries.request
        connection.stop.check()
        await connection.stop.sleep(await self._rate_limiter.reserve(request))
        await booking.send()
        began = self._clock()
        outcome = await self._send(request, client=connection.client, compatibility=compatibility)
        seconds = self._clock() - began
        retries.seconds += seconds
        if isinstance(outcome, ModelReply):
            connection.health.note_reply(request)
            await self._rate_limiter.settle(request, reply=outcome)
            return replace(outcome, seconds=seconds)
        if outcome.may_be_paid:
            await booking.lose()
        connection.health.note_failure(outcome)
        return outcome

    async def _send(
        self, request: ModelRequest, *, client: "openai.AsyncOpenAI", compatibility: ApiCompatibility
    ) -> ModelReply | CallFailure:
        import openai  # late, as where the client is made

        call = self._api.call(request, compatibility=compatibility)
        # Failures are returned, not raised from here: an exception that keeps openai's as its context would carry the
        # provider's words, and with them perhaps the key, into tracebacks.
        try:
            async with asyncio.timeout(self._settings.timeout_seconds):
                # `post` costs half of `chat.completions.create`, which copies and checks the whole request first.
                response = await client.post(
                    call.path, cast_to=httpx2.Response, body=call.body, options={"headers": call.headers}
                )
        except TimeoutError:
            return self._failures.of_timeout()
        except openai.APIConnectionError as error:
            return self._failures.of_connection(error.__cause__ or error)
        except openai.APIStatusError as error:
            return self._failures.of_error(self._api.read_error(error), request=request)
        reply = self._api.read_reply(request, response.content)
        if reply in ("foreign", "unusable"):
            reply = self._api.read_reply(request, mended_json(response.content, charset=response.charset_encoding))
        return reply if isinstance(reply, ModelReply) else self._failures.of_no_reply(reply, request=request)
