"""The progress of a run by its finished steps, as the terminal and Dagster's log show it."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from assets.engine.ports import StageProgress
from assets.engine.progress import ProgressLog
from assets.engine.stage_runner import REPORT_SECONDS
from assets.llm.usage import Meter
from pipelines.evaluation.records import RunManifest


class StepProgress:
    """Shows by `show` how far a run is, twice a second; `calls`: the calls that all `steps` are expected to take."""

    def __init__(
        self, manifest: RunManifest, *, meter: Meter, steps: int, calls: float, show: Callable[[StageProgress], None]
    ) -> None:
        self._manifest = manifest
        self._meter = meter
        self._show = show
        self._steps = steps
        self._done = 0
        self._began = time.monotonic()
        self._log = ProgressLog(meter, first_line="", expected=calls / max(1, steps), alike=True)

    def step(self, key: str) -> None:
        """Count a step that is done."""
        self._done += 1

    @asynccontextmanager
    async def display(self) -> AsyncGenerator[None]:
        """Show it as long as this lasts, and as finished where it ends well."""
        background = asyncio.create_task(self._show_regularly())
        try:
            yield
        finally:
            background.cancel()
        self._show_now(self._done)

    async def _show_regularly(self) -> None:
        while True:
            # A step more than expected may be under way; a run that goes on is never shown as finished.
            self._show_now(max(self._steps, self._done + 1))
            await asyncio.sleep(REPORT_SECONDS)

    def _show_now(self, total: int) -> None:
        progress = StageProgress(
            stage=self._manifest.memory.name,
            unit=self._manifest.dataset,
            done=self._done,
            total=total,
            calls=self._meter.usage.calls,
            repeated=self._meter.repeated,
            seconds=time.monotonic() - self._began,
            noun="step",
        )
        self._show(self._log.update(progress))
