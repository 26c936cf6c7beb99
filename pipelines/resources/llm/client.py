"""The LanguageModel port over any OpenAI-compatible endpoint. Retries, dialects and limits are ours, not the client's."""

import asyncio
import time
from dataclasses import replace

import httpx2
import openai

from assets.llm.ports import ModelReply, ModelRequest
from pipelines.resources.llm.compatibility import Dialect, Dialects
from pipelines.resources.llm.completion import read_reply
from pipelines.resources.llm.connection import Lane, Lanes
from pipelines.resources.llm.errors import Diagnosis, Trouble
from pipelines.resources.llm.rate_limit import pace_for
from pipelines.resources.llm.retry import Effort
from pipelines.resources.llm.settings import EndpointSettings


class Endpoint:
    """Completes chats from any event loop.

    What it has learned (`dialects`) and its pace outlive a loop; connections, and the error that ended a run, do not.
    """

    def __init__(self, settings: EndpointSettings) -> None:
        self._settings = settings
        self._lanes = Lanes(settings)
        self.dialects = Dialects()
        self._diagnosis = Diagnosis(settings)
        self._pace = pace_for(settings)

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Ask until a reply comes. Raises EndpointError when no further call makes sense."""
        lane = await self._lanes.here()
        effort = Effort(request, backoff_seconds=self._settings.backoff_seconds)
        while True:
            dialect = self.dialects.of(request.model)
            outcome = await self._try(effort, lane=lane, dialect=dialect)
            if isinstance(outcome, ModelReply):
                return outcome
            if outcome.kind == "refused":
                return ModelReply(text="", finish="refusal", input_tokens=0, output_tokens=0)
            if outcome.kind == "rejected" and self.dialects.learn(outcome.objection, request=request, sent=dialect):
                continue
            wait = effort.wait_after(outcome, served=lane.served)
            if wait is None:
                lane.halt.call(effort.farewell(outcome, place=self._settings.place))
                lane.halt.check()
            else:
                effort.seconds += wait
                await lane.halt.rest(wait)

    async def close(self) -> None:
        """Close the running loop's connections now; without this, a loop closes them when it shuts down."""
        await self._lanes.leave()

    async def _try(self, effort: Effort, *, lane: Lane, dialect: Dialect) -> ModelReply | Trouble:
        lane.halt.check()
        acquired = await lane.limit.acquire()
        probe, failed = False, None
        try:
            probe = await lane.breaker.admit()
            await lane.halt.rest(await self._pace.take(effort.request))
            began = time.monotonic()
            outcome = await self._send(effort.request, client=lane.client, dialect=dialect)
            took = time.monotonic() - began
            effort.seconds += took
            failed = isinstance(outcome, Trouble) and outcome.kind == "transient"
            if isinstance(outcome, ModelReply):
                lane.served = True
                lane.limit.succeeded()
                await self._pace.settle(effort.request, reply=outcome)
                return replace(outcome, seconds=took)
            if outcome.overloaded:
                lane.limit.overloaded(acquired)
            return outcome
        finally:
            lane.breaker.record(failed=failed, probe=probe)
            lane.limit.release()

    async def _send(self, request: ModelRequest, *, client: openai.AsyncOpenAI, dialect: Dialect) -> ModelReply | Trouble:
        # Troubles are returned, not raised from here: an exception that keeps the client's as its context would
        # carry the provider's words, and with them perhaps the key, into tracebacks.
        try:
            async with asyncio.timeout(self._settings.timeout_seconds):
                # `post` costs half of `chat.completions.create`, which copies and checks the whole request first.
                answer = await client.post("/chat/completions", cast_to=httpx2.Response, body=dialect.body(request))
        except TimeoutError:
            return self._diagnosis.of_timeout()
        except openai.APIConnectionError as error:
            return self._diagnosis.of_connection(error)
        except openai.APIStatusError as error:
            return self._diagnosis.of_status(error, request=request)
        return read_reply(answer.content) or self._diagnosis.of_strange_answer()
