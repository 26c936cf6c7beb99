"""One batch job, from what is written down to its replies: sent if it is not yet, watched, read, and closed."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from openai.types import Batch

from assets.llm.ports import EndpointError, ModelReply
from pipelines.resources.llm.batch.api import BatchOffice, Missing
from pipelines.resources.llm.batch.jsonl import Result, read_results
from pipelines.resources.llm.batch.settings import BatchProgress, BatchSettings
from pipelines.resources.llm.batch.store import BatchBook
from pipelines.resources.llm.circuit_breaker import Halt

GROWTH = 1.3
TRY_LATER = {"token_limit_exceeded", "rate_limit_exceeded", "server_error", "internal_error"}
Watch = Callable[[BatchProgress], None]
UNDER_WAY = {"validating", "in_progress", "finalizing", "cancelling"}


@dataclass
class Outcome:
    """What a job brought: by line its reply, or what there was instead. `pause`: seconds before the lines are sent again."""

    replies: dict[str, ModelReply] = field(default_factory=dict[str, ModelReply])
    results: dict[str, Result] = field(default_factory=dict[str, Result])
    pause: float = 0.0


@dataclass(frozen=True)
class BatchRun:
    """What a job's run needs. Any number of processes may run the same job; it is sent once."""

    book: BatchBook
    office: BatchOffice
    halt: Halt
    settings: BatchSettings
    model: str
    watch: Watch | None = None

    async def finish(self, key: str) -> Outcome | None:
        """Wait for the job's end and keep its replies; None when another process has. Raises EndpointError, StoreError."""
        batch_id = await self._sent(key)
        if batch_id is None:
            return None
        try:
            outcome = await self._read(await self._ended(batch_id))
        except Missing:
            # The provider has forgotten the job or its files: what they held is lost, and has to be asked again.
            outcome = Outcome()
        await self.book.end(key, outcome.replies)
        return outcome

    async def _sent(self, key: str) -> str | None:
        """The provider's name of the job, which is sent if it was not; None when it has ended."""
        async with self.book.locked():
            job = await self.book.job(key)
            if job.ended or job.batch_id is not None:
                return None if job.ended else job.batch_id
            # Whoever tried before us may have died between sending the job and noting its name.
            batch = await self.office.find(key) if job.tried else None
            if batch is None:
                await self.book.try_to_send(key)
                batch = await self.office.send(job.content, key=key)
            await self.book.sent(key, batch.id)
            return batch.id

    async def _ended(self, batch_id: str) -> Batch:
        began, wait = time.monotonic(), self.settings.first_look
        while True:
            await self.halt.rest(wait)
            batch = await self.office.look(batch_id)
            self._tell(batch, seconds=time.monotonic() - began)
            if batch.status not in UNDER_WAY:
                return batch
            wait = min(wait * GROWTH, self.settings.longest_look)

    async def _read(self, batch: Batch) -> Outcome:
        if batch.status == "failed":
            return await self._failed(batch)
        files = [await self.office.read(name) for name in (batch.output_file_id, batch.error_file_id) if name]
        results = read_results(files)
        read = {custom_id: result.reply() for custom_id, result in results.items()}
        return Outcome({custom_id: reply for custom_id, reply in read.items() if reply is not None}, results)

    async def _failed(self, batch: Batch) -> Outcome:
        errors = (batch.errors.data if batch.errors else None) or []
        codes = {error.code for error in errors}
        if codes & TRY_LATER:
            return Outcome(pause=self.settings.longest_look)
        words = self.office.cleaned("; ".join(error.message or error.code or "" for error in errors) or "no reason given")
        told = f"The model endpoint {self.office.place} did not take the batch job {batch.id} ({words}); correct the "
        raise EndpointError(f"{told}model's settings in the recipe, or set its transport to live.")

    def _tell(self, batch: Batch, *, seconds: float) -> None:
        if self.watch is None:
            return
        counts = batch.request_counts
        total, done, failed = (counts.total, counts.completed, counts.failed) if counts else (0, 0, 0)
        self.watch(
            BatchProgress(
                batch_id=batch.id,
                model=self.model,
                status=batch.status,
                lines=total,
                done=done,
                failed=failed,
                seconds=seconds,
                ended=batch.status not in UNDER_WAY,
            )
        )
