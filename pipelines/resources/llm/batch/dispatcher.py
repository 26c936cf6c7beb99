"""Where the callers of one event loop wait for the replies of batch jobs."""

import asyncio
from collections.abc import Coroutine, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from assets.llm.ports import EndpointError, ModelReply, ModelRequest
from pipelines.resources.cache.reply_cache import request_key
from pipelines.resources.llm.batch.api import BatchOffice
from pipelines.resources.llm.batch.job import BatchRun, Outcome, Watch
from pipelines.resources.llm.batch.jsonl import LOST, chunks, input_line
from pipelines.resources.llm.batch.queue import Caller, Gathering
from pipelines.resources.llm.batch.settings import MOST_JOBS_PER_LINE, MOST_PAUSES, BatchSettings
from pipelines.resources.llm.batch.store import BatchBook, Known
from pipelines.resources.llm.client import Endpoint
from pipelines.resources.llm.connection import Lane
from pipelines.resources.llm.errors import Diagnosis, Trouble
from pipelines.resources.llm.settings import EndpointSettings

REFUSED = ModelReply(text="", finish="refusal", input_tokens=0, output_tokens=0)


@dataclass(frozen=True)
class BatchPlan:
    """What a batched model works with. `watch` is told about every look at a job."""

    endpoint: Endpoint
    settings: EndpointSettings
    book: BatchBook
    timing: BatchSettings = field(default_factory=BatchSettings)
    watch: Watch | None = None


class Hall:
    """Gathers callers, sends their lines, and hands out what comes back. When the last one leaves, nothing goes on."""

    def __init__(self, plan: BatchPlan, *, lane: Lane) -> None:
        self._plan, self._lane = plan, lane
        self._diagnosis = Diagnosis(plan.settings)
        self._most_lines = plan.timing.most_lines
        self._gathering: dict[str, Gathering] = {}  # by model
        self._callers: dict[str, set[Caller]] = {}  # by line, from joining to leaving
        self._members: dict[str, set[str]] = {}  # lines of the jobs that are run here
        self._tasks: set[asyncio.Task[None]] = set()
        self._scouting = asyncio.Lock()
        self._scouted: set[str] = set()

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Wait with the others for a job's end."""
        self._lane.halt.check()
        caller = Caller(request, request_key(request), asyncio.get_running_loop().create_future())
        self._callers.setdefault(caller.custom_id, set()).add(caller)
        try:
            self._join(caller)
            return await caller.reply
        finally:
            self._leave(caller)

    def _join(self, caller: Caller) -> None:
        model = caller.request.model
        if model not in self._gathering:
            self._gathering[model] = Gathering(self._plan.timing, most=self._most_lines, close=partial(self._close, model))
        self._gathering[model].add(caller)

    def _leave(self, caller: Caller) -> None:
        self._callers[caller.custom_id].discard(caller)
        if not self._callers[caller.custom_id]:
            del self._callers[caller.custom_id]
        if not self._callers:
            for gathering in self._gathering.values():
                gathering.disperse()
            self._gathering.clear()
            for task in self._tasks:
                task.cancel()

    def _close(self, model: str, callers: list[Caller]) -> None:
        self._gathering.pop(model, None)
        self._start(self._serve(callers))

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        """When work has failed, everyone hears of it: nobody is left waiting for what will not come."""
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if isinstance(error, (EndpointError, OSError)):
            self._lane.halt.call(str(error))
        if error is not None:
            for caller in self._everyone(self._callers):
                caller.fail(error)

    def _everyone(self, ids: Iterable[str]) -> list[Caller]:
        return [caller for custom_id in ids for caller in self._callers.get(custom_id, ())]

    async def _serve(self, callers: list[Caller]) -> None:
        """Find out what is known of the lines, and send the others."""
        by_id = {caller.custom_id: caller for caller in callers}
        known = await self._plan.book.known(by_id)
        self._take(known)
        fresh = await self._scout([by_id[custom_id] for custom_id in known.fresh])
        lines = {caller.custom_id: self._line(caller) for caller in fresh}
        for chunk in chunks(lines, most_lines=self._most_lines, most_bytes=self._plan.timing.most_bytes):
            self._take(await self._plan.book.claim(chunk))

    async def _scout(self, callers: list[Caller]) -> list[Caller]:
        """Send a model's first call alone and at once; the others are left.

        A wrong key, name or setting shows now and not after hours, and how the model is spoken to is learned on the way.
        """
        async with self._scouting:
            if not callers or callers[0].request.model in self._scouted:
                return callers
            first, *others = callers
            reply = await self._plan.endpoint.complete(first.request)
            self._scouted.add(first.request.model)
        first.answer(reply)
        return others

    def _line(self, caller: Caller) -> str:
        caller.sent = self._plan.endpoint.dialects.of(caller.request.model)
        return input_line(caller.request, custom_id=caller.custom_id, dialect=caller.sent)

    def _take(self, known: Known) -> None:
        for custom_id, reply in known.replies.items():
            for caller in self._everyone([custom_id]):
                caller.answer(reply)
        for key, ids in known.jobs.items():
            new = key not in self._members
            self._members.setdefault(key, set()).update(ids)
            if new:
                self._start(self._finish(key))

    async def _finish(self, key: str) -> None:
        waiting = self._everyone(self._members[key])
        if not waiting:
            return
        about, plan = waiting[0].request, self._plan
        office = BatchOffice(self._lane, plan.settings, about=about)
        run = BatchRun(plan.book, office, self._lane.halt, plan.timing, about.model, plan.watch)
        outcome = await run.finish(key)
        callers = self._everyone(self._members.pop(key))
        if outcome is None:
            self._start(self._serve(callers))
        elif outcome.pause:
            self._most_lines = max(1, min(self._most_lines, len(callers) // 2))
            self._start(self._put_off(callers, outcome.pause))
        else:
            self._hand_out(callers, outcome)

    async def _put_off(self, callers: list[Caller], pause: float) -> None:
        """Wait, longer each time, for room in the provider's queue, and try with smaller jobs."""
        pauses = max(caller.pauses for caller in callers) + 1
        if pauses > MOST_PAUSES:
            raise EndpointError(self._sentence(LOST))
        await self._lane.halt.rest(pause * min(2**pauses, 60))
        for caller in callers:
            caller.pauses = pauses
            self._join(caller)

    def _hand_out(self, callers: list[Caller], outcome: Outcome) -> None:
        for caller in callers:
            reply, result = outcome.replies.get(caller.custom_id), outcome.results.get(caller.custom_id)
            if reply is not None:
                caller.answer(reply)
            else:
                self._again(caller, result.trouble(caller.request, self._diagnosis) if result else LOST)

    def _again(self, caller: Caller, trouble: Trouble) -> None:
        """Put the caller into the next job, or tell why not."""
        caller.jobs += 1
        if trouble.kind == "refused":
            caller.answer(REFUSED)
        elif self._worth_another_job(caller, trouble):
            self._join(caller)
        else:
            self._lane.halt.call(self._sentence(trouble))
            caller.fail(EndpointError(self._sentence(trouble)))

    def _worth_another_job(self, caller: Caller, trouble: Trouble) -> bool:
        if trouble.kind == "rejected":
            dialects = self._plan.endpoint.dialects
            sent = caller.sent or dialects.of(caller.request.model)
            return dialects.learn(trouble.objection, request=caller.request, sent=sent)
        return trouble.kind == "transient" and caller.jobs < MOST_JOBS_PER_LINE

    def _sentence(self, trouble: Trouble) -> str:
        return f"The model endpoint {self._plan.settings.place} {trouble.what}; {trouble.remedy}."
