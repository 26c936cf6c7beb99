"""One batch job, from its stored input to its replies: sent if it is not yet, watched, read, and closed."""

import json
import logging
import time
from dataclasses import dataclass, field

from assets.llm.ports import EndpointError, ModelReply
from assets.reporting.plurals import counted
from pipelines.resources.llm.batch.client import TRY_LATER, BatchClient, BatchResult, NotFound, read_results
from pipelines.resources.llm.batch.settings import ASK_LIVE, BatchProgress, BatchSettings, OnBatchProgress
from pipelines.resources.llm.batch.status import BatchStatus
from pipelines.resources.llm.batch.store import BatchStore
from pipelines.resources.llm.endpoint_health import StopSignal
from pipelines.resources.llm.reply_origins import ReplyOrigins

POLL_GROWTH = 1.3
# Looks for what a provider says there is and does not show yet: a job that was just made, a file that was just written.
LOOKS_FOR_WHAT_IS_LATE = 5
LOG = logging.getLogger(__name__)


@dataclass
class JobOutcome:
    """The replies of a job by line, and the results of all lines. `pause`: seconds before the lines are sent again."""

    replies: dict[str, ModelReply] = field(default_factory=dict[str, ModelReply])
    results: dict[str, BatchResult] = field(default_factory=dict[str, BatchResult])
    pause: float = 0.0


@dataclass(frozen=True)
class BatchJob:
    """A job and what it needs to end. Any number of processes may run the same job; it is sent once.

    `origins`: tells the replies of other models; None where these may answer too.
    """

    key: str
    store: BatchStore
    client: BatchClient
    stop: StopSignal
    settings: BatchSettings
    model: str
    origins: ReplyOrigins | None = None
    on_progress: OnBatchProgress | None = None

    async def finish(self) -> JobOutcome | None:
        """Wait for the job's end and store its replies; None when another process has. Raises EndpointError, StoreError."""
        job = await self.store.job(self.key)
        batch_id = await self._send_once()
        if batch_id is None:
            return None
        lines = {str(json.loads(line)["custom_id"]) for line in job.content.splitlines() if line}
        try:
            status = await self._wait_for_end(batch_id)
            outcome = await self._read(status)
        except NotFound:
            # The provider has forgotten the job or its files: what they held is lost, and has to be asked again.
            await self.store.end(self.key, {})
            return JobOutcome()
        self._refuse_foreign_results(batch_id, status, outcome, lines=lines)
        await self.store.end(self.key, outcome.replies)
        if status.end == "failed":
            return self._after_failure(batch_id, status, outcome)
        missing = len(lines - outcome.replies.keys())
        if status.end == "cancelled" and missing:
            raise EndpointError(
                f"The batch job {batch_id} at {self.client.address} was cancelled there; {_kept_sentence(outcome, missing)}. "
                f"Start the run again to ask for these in a new job, or {ASK_LIVE}."
            )
        if status.end == "expired" and missing:
            LOG.warning(
                "The batch job %s at %s ran out of time; %s, which are sent again in a new job. If that happens again, %s.",
                batch_id,
                self.client.address,
                _kept_sentence(outcome, missing),
                ASK_LIVE,
            )
        return outcome

    async def _send_once(self) -> str | None:
        """The provider's id of the job, which is sent if it was not; None when it has ended."""
        async with self.store.lock():
            job = await self.store.job(self.key)
            if job.ended or job.batch_id is not None:
                return None if job.ended else job.batch_id
            # An earlier process may have died between sending the job and storing its id.
            batch = await self.client.find(self.key) if job.tried else None
            if batch is None:
                await self.store.try_to_send(self.key)
                batch = await self.client.send(job.content, key=self.key)
            await self.store.note_sent(self.key, batch.id)
            return batch.id

    async def _wait_for_end(self, batch_id: str) -> BatchStatus:
        """Look until the job has ended. A status that is not known is waited for: to send the lines again would be paid twice.

        Raises NotFound for a job that is not there at several looks, and EndpointError for one whose files never come.
        """
        began = time.monotonic()
        wait = self.settings.first_look
        late = 0
        told = False
        while True:
            await self.stop.sleep(wait)
            wait = min(wait * POLL_GROWTH, self.settings.longest_look)
            try:
                status = BatchStatus.of(await self.client.retrieve(batch_id))
            except NotFound:
                late += 1
                if late >= LOOKS_FOR_WHAT_IS_LATE:
                    raise
                continue
            self._report(batch_id, status, seconds=time.monotonic() - began)
            if status.is_unknown and not told:
                told = True
                LOG.warning(
                    "The batch job %s has the status %r, which is not known here; it is waited for.", batch_id, status.word
                )
            if status.lacks_its_files:
                late += 1
                if late >= LOOKS_FOR_WHAT_IS_LATE:
                    raise EndpointError(
                        f"The batch job {batch_id} at {self.client.address} is done and names no file with its replies; start "
                        f"the run again to look again, or {ASK_LIVE}, which asks anew."
                    )
            elif status.end is not None:
                return status

    async def _read(self, status: BatchStatus) -> JobOutcome:
        if status.end == "failed" and not status.done:
            return JobOutcome()
        files = [await self._read_file(name) for name in status.files]
        outcome = JobOutcome(results=read_results(files))
        for result in outcome.results.values():
            self._is_others(result)  # all names first, because together they tell whether the endpoint has one of its own
        for custom_id, result in outcome.results.items():
            reply = None if self._is_others(result) else result.reply()
            if reply is not None:
                outcome.replies[custom_id] = reply
        return outcome

    def _is_others(self, result: BatchResult) -> bool:
        return self.origins is not None and self.origins.find_other_model(self.model, result.named_model) is not None

    async def _read_file(self, name: str) -> bytes:
        """The content of a file that the job names. Raises NotFound when it is not there at several looks."""
        wait = self.settings.first_look
        for _ in range(LOOKS_FOR_WHAT_IS_LATE - 1):
            try:
                return await self.client.read(name)
            except NotFound:
                await self.stop.sleep(wait)
                wait = min(wait * POLL_GROWTH, self.settings.longest_look)
        return await self.client.read(name)

    def _refuse_foreign_results(self, batch_id: str, status: BatchStatus, outcome: JobOutcome, *, lines: set[str]) -> None:
        """Raise EndpointError where lines were answered and none of the answers is to a line of this job."""
        if status.done and lines and not lines & outcome.results.keys():
            raise EndpointError(
                f"The batch job {batch_id} at {self.client.address} has answered {counted(status.done, 'line')}, and its files "
                f"hold no result with the id of one; {ASK_LIVE}, which asks anew."
            )

    def _after_failure(self, batch_id: str, status: BatchStatus, outcome: JobOutcome) -> JobOutcome:
        """Return the outcome of a job that the provider may take later. Raises EndpointError for one that it did not take."""
        if any(code in TRY_LATER for code, _ in status.errors):
            outcome.pause = self.settings.longest_look
            return outcome
        reason = "; ".join(filter(None, (message or code for code, message in status.errors)))
        kept = f" {counted(len(outcome.replies), 'reply')} came and is kept." if outcome.replies else ""
        raise EndpointError(
            f"The model endpoint {self.client.address} did not take the batch job {batch_id} "
            f"({self.client.redact(reason) or 'no reason given'}).{kept} Correct the model's settings, or "
            f"{ASK_LIVE}."
        )

    def _report(self, batch_id: str, status: BatchStatus, *, seconds: float) -> None:
        if self.on_progress is None:
            return
        self.on_progress(
            BatchProgress(
                batch_id=batch_id,
                model=self.model,
                status=status.word,
                lines=status.total,
                done=status.done,
                failed=status.failed,
                seconds=seconds,
                ended=status.end is not None,
            )
        )


def _kept_sentence(outcome: JobOutcome, missing: int) -> str:
    replies = len(outcome.replies)
    return f"{counted(replies, 'reply')} came and {'is' if replies == 1 else 'are'} kept, {counted(missing, 'line')} did not"
