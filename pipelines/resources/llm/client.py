"""The LanguageModel port over HTTP, whatever API the endpoint has. Retries, compatibility and limits are ours, not openai's."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import httpx2

from assets.llm.ports import ModelReply, ModelRequest, Then, unchanged_reply
from assets.records.json_text import mended_json
from pipelines.resources.llm.compatibility import ApiCompatibility, LearnedCompatibility
from pipelines.resources.llm.connection import Connections, EndpointConnection
from pipelines.resources.llm.errors import FailureClassifier
from pipelines.resources.llm.model_api import ModelApi, OpenAiChat
from pipelines.resources.llm.rate_limit import LearnedLimit, LocalRateLimiter, RateLimiter
from pipelines.resources.llm.retry import MAX_SECONDS, CallFailure, RetryBudget
from pipelines.resources.llm.settings import EndpointSettings

if TYPE_CHECKING:
    import openai

REFUSAL = ModelReply(text="", finish="refusal", input_tokens=0, output_tokens=0)


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
        self._learned_limits: defaultdict[str, LearnedLimit] = defaultdict(partial(LearnedLimit, clock=clock))
        self.compatibility = LearnedCompatibility(settings.address)

    async def complete(self, request: ModelRequest, *, then: Then = unchanged_reply) -> ModelReply:
        """Ask until a reply comes. Raises RequestFailed for a request that is not served, EndpointError to end the run.

        `then` stores the reply while the call still holds its slot: a reply is durable before the next call begins.
        """
        connection = await self._connections.current()
        retries = RetryBudget(request, backoff_seconds=self._settings.backoff_seconds)
        with connection.health.waiting():
            while True:
                await self._wait_for_turn(request.model, connection=connection)
                outcome = await self._ask_in_slot(retries, connection=connection, then=then)
                if isinstance(outcome, ModelReply):
                    return outcome
                await connection.stop.sleep(outcome)

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

    async def _ask_in_slot(self, retries: RetryBudget, *, connection: EndpointConnection, then: Then) -> ModelReply | float:
        """Ask in one slot of the concurrency limit. Return the reply, or the seconds to wait without a slot.

        A call keeps its slot while it waits for its next try: an endpoint that fails does not get all the others' calls too.
        An overloaded one has fewer slots from now on, and a rate limit concerns one model only, so the slot goes back.
        """
        request = retries.request
        acquired = await connection.limit.acquire(rank=request.labels.rank)
        try:
            while True:
                compatibility = self.compatibility.of_call(request)
                outcome = await self._ask_once(retries, connection=connection, compatibility=compatibility)
                if isinstance(outcome, ModelReply):
                    connection.limit.succeeded()
                    self.compatibility.served(request, sent=compatibility)
                    self.compatibility.note_reply(request, outcome, sent=compatibility)
                    return await then(outcome)
                if outcome.kind == "refused":
                    return await then(REFUSAL)
                if outcome.overloaded:
                    connection.limit.overloaded(acquired)
                delay = self._delay_after(outcome, retries, connection=connection, sent=compatibility)
                if outcome.overloaded or outcome.kind == "limited":
                    return delay
                await connection.stop.sleep(delay)
                await self._wait_for_turn(request.model, connection=connection)
        finally:
            connection.limit.release()

    def _delay_after(
        self, failure: CallFailure, retries: RetryBudget, *, connection: EndpointConnection, sent: ApiCompatibility
    ) -> float:
        """Return the seconds until the next try. Raises RequestFailed or EndpointError when there is to be none."""
        request = retries.request
        if failure.kind == "rejected" and self.compatibility.learn(failure.rejection, request=request, sent=sent):
            return 0.0
        delay = retries.next_delay(failure, served=connection.health.served)
        self.compatibility.failed(request, sent=sent, rejected=failure.kind == "rejected")
        if delay is None:
            message = retries.error_message(failure, endpoint=self._settings.address)
            connection.health.give_up(request, failure, message=message)
        return delay

    async def _ask_once(
        self, retries: RetryBudget, *, connection: EndpointConnection, compatibility: ApiCompatibility
    ) -> ModelReply | CallFailure:
        request = retries.request
        connection.stop.check()
        await connection.stop.sleep(await self._rate_limiter.reserve(request))
        began = self._clock()
        outcome = await self._send(request, client=connection.client, compatibility=compatibility)
        seconds = self._clock() - began
        retries.seconds += seconds
        if isinstance(outcome, ModelReply):
            connection.health.note_reply(request)
            await self._rate_limiter.settle(request, reply=outcome)
            return replace(outcome, seconds=seconds)
        connection.health.note_failure(outcome)
        if outcome.kind == "limited":
            hint = min(outcome.retry_after, MAX_SECONDS)
            self._learned_limits[request.model].limited(sent_at=began, retry_after=hint, used_up=outcome.used_up)
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
        if not isinstance(reply, ModelReply):
            reply = self._api.read_reply(request, mended_json(response.content))
        if not isinstance(reply, ModelReply):
            return self._failures.of_no_reply(reply, request=request)
        self._learned_limits[request.model].answered(request, headers=response.headers)
        return reply
