"""One batch job, from its stored input to its replies: sent if it is not yet, watched, read, and closed."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from openai.types import Batch

from assets.llm.ports import EndpointError, ModelReply
from pipelines.resources.llm.batch.client import BatchClient, BatchResult, NotFound, read_results
from pipelines.resources.llm.batch.settings import BatchProgress, BatchSettings
from pipelines.resources.llm.batch.store import BatchStore
from pipelines.resources.llm.circuit_breaker import StopSignal

POLL_GROWTH = 1.3
TRY_LATER = {"token_limit_exceeded", "rate_limit_exceeded", "server_error", "internal_error"}
UNDER_WAY = {"validating", "in_progress", "finalizing", "cancelling"}
OnBatchProgress = Callable[[BatchProgress], None]


@dataclass
class JobOutcome:
    """What a job brought: by line its reply, or what there was instead. `pause`: seconds before the lines are sent again."""

    replies: dict[str, ModelReply] = field(default_factory=dict[str, ModelReply])
    results: dict[str, BatchResult] = field(default_factory=dict[str, BatchResult])
    pause: float = 0.0


@dataclass(frozen=True)
class BatchJob:
    """A job and what it needs to end. Any number of processes may run the same job; it is sent once."""

    key: str
    store: BatchStore
    client: BatchClient
    stop: StopSignal
    settings: BatchSettings
    model: str
    on_progress: OnBatchProgress | None = None

    async def finish(self) -> JobOutcome | None:
        """Wait for the job's end and store its replies; None when another process has. Raises EndpointError, StoreError."""
        batch_id = await self._send_once()
        if batch_id is None:
            return None
        try:
            outcome = await self._read(await self._wait_for_end(batch_id))
        except NotFound:
            # The provider has forgotten the job or its files: what they held is lost, and has to be asked again.
            outcome = JobOutcome()
        await self.store.end(self.key, outcome.replies)
        return outcome

    async def _send_once(self) -> str | None:
        """The provider's id of the job, which is sent if it was not; None when it has ended."""
        async with self.store.locked():
            job = await self.store.job(self.key)
            if job.ended or job.batch_id is not None:
                return None if job.ended else job.batch_id
            # Whoever tried before us may have died between sending the job and storing its id.
            batch = await self.client.find(self.key) if job.tried else None
            if batch is None:
                await self.store.try_to_send(self.key)
                batch = await self.client.send(job.content, key=self.key)
            await self.store.sent(self.key, batch.id)
            return batch.id

    async def _wait_for_end(self, batch_id: str) -> Batch:
        began, wait = time.monotonic(), self.settings.first_look
        while True:
            await self.stop.sleep(wait)
            batch = await self.client.retrieve(batch_id)
            self._report(batch, seconds=time.monotonic() - began)
            if batch.status not in UNDER_WAY:
                return batch
            wait = min(wait * POLL_GROWTH, self.settings.longest_look)

    async def _read(self, batch: Batch) -> JobOutcome:
        if batch.status == "failed":
            return self._failed(batch)
        files = [await self.client.read(name) for name in (batch.output_file_id, batch.error_file_id) if name]
        results = read_results(files)
        replies = {custom_id: result.reply() for custom_id, result in results.items()}
        return JobOutcome({custom_id: reply for custom_id, reply in replies.items() if reply is not None}, results)

    def _failed(self, batch: Batch) -> JobOutcome:
        errors = (batch.errors.data if batch.errors else None) or []
        codes = {error.code for error in errors}
        if codes & TRY_LATER:
            return JobOutcome(pause=self.settings.longest_look)
        reason = self.client.redact("; ".join(error.message or error.code or "" for error in errors) or "no reason given")
        raise EndpointError(
            f"The model endpoint {self.client.address} did not take the batch job {batch.id} ({reason}); correct the "
            "model's settings in the recipe, or set its transport to live."
        )

    def _report(self, batch: Batch, *, seconds: float) -> None:
        if self.on_progress is None:
            return
        counts = batch.request_counts
        total, done, failed = (counts.total, counts.completed, counts.failed) if counts else (0, 0, 0)
        self.on_progress(
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
