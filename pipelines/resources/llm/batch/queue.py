"""The LanguageModel port over batch jobs, at half the price: calls that ask for it wait here and are sent together."""

import asyncio
from collections.abc import Coroutine, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from assets.llm.ports import UNBOOKED, CallBooking, EndpointError, ModelReply, ModelRequest
from pipelines.resources.cache.reply_cache import NOWHERE, Place, key_at, request_key
from pipelines.resources.llm.batch.client import LOST, MOST_FILE_BYTES, BatchClient, input_line, split_lines
from pipelines.resources.llm.batch.job import BatchJob, JobOutcome
from pipelines.resources.llm.batch.settings import MAX_JOBS_PER_LINE, MAX_PAUSES, BatchSettings, OnBatchProgress
from pipelines.resources.llm.batch.store import BatchStore, StoredLines
from pipelines.resources.llm.chat_completion import with_tokens
from pipelines.resources.llm.client import REFUSAL, ModelClient
from pipelines.resources.llm.compatibility import Lesson
from pipelines.resources.llm.connection import Connections, EndpointConnection
from pipelines.resources.llm.errors import FailureClassifier
from pipelines.resources.llm.reply_origins import FALLBACKS, ReplyOrigins
from pipelines.resources.llm.retry import TRIED_AGAIN, CallFailure
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.key_value import KeyValueStore


@dataclass(frozen=True)
class BatchResources:
    """Client, settings and store of batch jobs. `on_progress` gets every look at a job.

    `origins`: those of the client, whose first call has settled which name the model's replies bear.
    """

    client: ModelClient
    settings: EndpointSettings
    store: BatchStore
    timing: BatchSettings = field(default_factory=BatchSettings)
    on_progress: OnBatchProgress | None = None
    place: Place = NOWHERE
    origins: ReplyOrigins = field(default_factory=ReplyOrigins)


class BatchedModel:
    """Sends what is labelled for it in batch jobs and everything else to the client, from any event loop.

    Raises EndpointError as the client does, and when a line has come back without a reply too often.
    """

    def __init__(self, resources: BatchResources, *, cache: KeyValueStore) -> None:
        self._resources = resources
        self._cache = cache
        self._connections = Connections(resources.settings, most_bytes=MOST_FILE_BYTES)
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, BatchQueue] = WeakKeyDictionary()

    async def complete(self, request: ModelRequest, *, booking: CallBooking = UNBOOKED) -> ModelReply:
        """The reply: from a job that was sent earlier, or from the next one."""
        if request.labels.transport != "batch":
            return await self._resources.client.complete(request, booking=booking)
        loop = asyncio.get_running_loop()
        if loop not in self._queues:
            self._queues[loop] = BatchQueue(self._resources, connection=await self._connections.current())
            await self._resources.store.tidy(self._cache)
        return await self._queues[loop].complete(request, booking=booking)


@dataclass(eq=False)
class QueuedCall:
    """One call that waits for its reply. `jobs` and `pauses` count how often its line was sent, and put off, in vain.

    `kept`: its reply came from a live call, which has stored it.
    """

    request: ModelRequest
    custom_id: str
    reply: asyncio.Future[ModelReply]
    booking: CallBooking
    kept: bool = False
    lesson: Lesson | None = None
    jobs: int = 0
    pauses: int = 0

    def answer(self, reply: ModelReply) -> None:
        """Give the reply, unless the caller has left."""
        if not self.reply.done():
            self.reply.set_result(reply)

    def fail(self, error: BaseException) -> None:
        """Raise what ends the run, unless the caller has left. Calls that wait together get errors of their own."""
        if isinstance(error, EndpointError):
            error = type(error)(str(error))
        if not self.reply.done():
            self.reply.set_exception(error)


class BatchQueue:
    """Gathers the calls of one event loop, sends their lines, and hands out what comes back.

    When the last caller leaves, nothing goes on.
    """

    def __init__(self, resources: BatchResources, *, connection: EndpointConnection) -> None:
        self._resources = resources
        self._connection = connection
        self._failures = FailureClassifier(resources.settings)
        self._most_lines = resources.timing.most_lines
        self._pending: dict[str, asyncio.Queue[QueuedCall]] = {}  # by model, until they are sent
        self._calls: dict[str, set[QueuedCall]] = {}  # by line, from joining to leaving
        self._job_lines: dict[str, set[str]] = {}  # lines of the jobs that are run here
        self._tasks: set[asyncio.Task[None]] = set()
        self._probing = asyncio.Lock()
        self._probed_models: set[str] = set()

    async def complete(self, request: ModelRequest, *, booking: CallBooking) -> ModelReply:
        """Wait with the others for a job's end."""
        self._connection.stop.check()
        # The reply cache's key: a line is known by it until the cache has its reply.
        custom_id = key_at(await self._resources.place.of(request.model), request_key(request))
        call = QueuedCall(request, custom_id, asyncio.get_running_loop().create_future(), booking)
        await booking.send()
        self._calls.setdefault(call.custom_id, set()).add(call)
        try:
            self._enqueue(call)
            reply = await call.reply
            return reply if call.kept else await booking.keep(reply)
        finally:
            self._leave(call)

    def _enqueue(self, call: QueuedCall) -> None:
        model = call.request.model
        if model not in self._pending:
            self._pending[model] = asyncio.Queue()
            self._start(self._gather(model))
        self._pending[model].put_nowait(call)

    async def _gather(self, model: str) -> None:
        """Send the model's calls: when nobody has joined them for a while, when there are enough, or when it is late."""
        timing = self._resources.timing
        loop = asyncio.get_running_loop()
        latest = loop.time() + timing.longest_gathering
        joining = self._pending[model]
        calls: list[QueuedCall] = []
        with suppress(TimeoutError):
            while len(calls) < self._most_lines:
                async with asyncio.timeout_at(min(loop.time() + timing.quiet, latest)):
                    calls.append(await joining.get())
        del self._pending[model]
        while not joining.empty():
            calls.append(joining.get_nowait())
        await self._serve([call for call in calls if not call.reply.done()])

    def _leave(self, call: QueuedCall) -> None:
        self._calls[call.custom_id].discard(call)
        if not self._calls[call.custom_id]:
            del self._calls[call.custom_id]
        if not self._calls:
            self._pending.clear()
            for task in self._tasks:
                task.cancel()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._on_task_end)

    def _on_task_end(self, task: asyncio.Task[None]) -> None:
        """Fail every call when work has failed: nobody is left waiting for what will not come."""
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, (EndpointError, OSError)):
            self._connection.stop.set(str(error))
        if error is not None:
            for call in self._calls_of(self._calls):
                call.fail(error)

    def _calls_of(self, ids: Iterable[str]) -> list[QueuedCall]:
        calls: list[QueuedCall] = []
        for custom_id in ids:
            calls.extend(self._calls.get(custom_id, ()))
        return calls

    async def _serve(self, calls: list[QueuedCall]) -> None:
        """Find out what is known of the lines, and send the others."""
        by_id = {call.custom_id: call for call in calls}
        stored = await self._resources.store.find_stored(by_id)
        self._use(stored)
        fresh = await self._probe([by_id[custom_id] for custom_id in stored.fresh])
        lines = {call.custom_id: self._line(call) for call in fresh}
        for part in split_lines(lines, most_lines=self._most_lines, most_bytes=self._resources.timing.most_bytes):
            self._use(await self._resources.store.claim(part))

    async def _probe(self, calls: list[QueuedCall]) -> list[QueuedCall]:
        """Send a model's first call alone and at once; the others are left.

        A wrong key, name or setting shows now and not after hours, and what the model accepts is learned on the way.
        """
        async with self._probing:
            if not calls or calls[0].request.model in self._probed_models:
                return calls
            first, *others = calls
            reply = await self._resources.client.complete(first.request, booking=first.booking)
            self._probed_models.add(first.request.model)
        first.kept = True
        first.answer(reply)
        return others

    def _line(self, call: QueuedCall) -> str:
        call.lesson = call.lesson or self._resources.client.compatibility.lesson_for(call.request.model)
        return input_line(call.request, custom_id=call.custom_id, compatibility=call.lesson.now)

    def _use(self, stored: StoredLines) -> None:
        for custom_id, reply in stored.replies.items():
            for call in self._calls_of([custom_id]):
                call.answer(with_tokens(reply, request=call.request))
        for key, ids in stored.jobs.items():
            new = key not in self._job_lines
            self._job_lines.setdefault(key, set()).update(ids)
            if new:
                self._start(self._finish(key))

    async def _finish(self, key: str) -> None:
        waiting = self._calls_of(self._job_lines[key])
        if not waiting:
            return
        example = waiting[0].request
        resources = self._resources
        job = BatchJob(
            key=key,
            store=resources.store,
            client=BatchClient(self._connection, resources.settings, example=example),
            stop=self._connection.stop,
            settings=resources.timing,
            model=example.model,
            origins=None if FALLBACKS in example.extra_body else resources.origins,
            on_progress=resources.on_progress,
        )
        outcome = await job.finish()
        calls = self._calls_of(self._job_lines.pop(key))
        if outcome is None:
            self._start(self._serve(calls))
        elif outcome.pause:
            self._most_lines = max(1, min(self._most_lines, len(calls) // 2))
            self._start(self._postpone(calls, outcome.pause))
        else:
            self._hand_out(calls, outcome)

    async def _postpone(self, calls: list[QueuedCall], pause: float) -> None:
        """Wait, longer each time, for room in the provider's queue, and try with smaller jobs."""
        pauses = max(call.pauses for call in calls) + 1
        if pauses > MAX_PAUSES:
            raise EndpointError(self._error_message(LOST))
        await self._connection.stop.sleep(pause * min(2**pauses, 60))
        for call in calls:
            call.pauses = pauses
            self._enqueue(call)

    def _hand_out(self, calls: list[QueuedCall], outcome: JobOutcome) -> None:
        for call in calls:
            reply = outcome.replies.get(call.custom_id)
            result = outcome.results.get(call.custom_id)
            if reply is not None:
                self._connection.health.note_reply(call.request)
                if call.lesson is not None:
                    self._resources.client.compatibility.learn(call.lesson)
                call.answer(with_tokens(reply, request=call.request))
            else:
                failure = result.failure(call.request, self._failures) if result else LOST
                self._requeue(call, failure)

    def _requeue(self, call: QueuedCall, failure: CallFailure) -> None:
        """Put the call into the next job, or fail it."""
        call.jobs += 1
        if failure.kind == "refused":
            call.answer(REFUSAL)
        elif self._worth_another_job(call, failure):
            self._start(self._send_again(call, failure))
        else:
            try:
                self._connection.health.give_up(call.request, failure, message=self._error_message(failure))
            except EndpointError as error:
                call.fail(error)

    async def _send_again(self, call: QueuedCall, failure: CallFailure) -> None:
        """Put the call into the next job, once the budget has room for another try where this one may be paid for."""
        try:
            if failure.may_be_paid:
                await call.booking.lose()
            await call.booking.send()
            self._enqueue(call)
        except EndpointError as error:
            call.fail(error)

    def _worth_another_job(self, call: QueuedCall, failure: CallFailure) -> bool:
        if failure.kind == "rejected":
            # A line of a job that an earlier run has sent was made there.
            call.lesson = call.lesson or self._resources.client.compatibility.lesson_for(call.request.model)
            return call.lesson.take(failure.rejection, request=call.request)
        return failure.kind in TRIED_AGAIN and call.jobs < MAX_JOBS_PER_LINE

    def _error_message(self, failure: CallFailure) -> str:
        return f"The model endpoint {self._resources.settings.address} {failure.problem}; {failure.remedy}."
