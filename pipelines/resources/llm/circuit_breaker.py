"""When an endpoint keeps failing: pause everyone and try with one call. When it is lost: stop everyone."""

import asyncio
import logging
import time
from collections import deque

from assets.llm.ports import EndpointError

WINDOW = 20
LOG = logging.getLogger(__name__)


class StopSignal:
    """The error that ends a run. Once it is set, every sleep ends and every further call fails with it."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._message = ""

    def set(self, message: str) -> None:
        """End the run; the first message stays."""
        self._message = self._message or message
        self._event.set()

    def check(self) -> None:
        """Raise EndpointError when the run has ended."""
        if self._message:
            raise EndpointError(self._message)

    async def sleep(self, seconds: float) -> None:
        """Wait, at most until the run ends. Raises EndpointError when it has ended, also with nothing to wait for."""
        self.check()
        if seconds <= 0:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return
        self.check()


class CircuitBreaker:
    """Pauses new tries when half of the last twenty failed; then one probe decides. It serves one event loop."""

    def __init__(self, stop: StopSignal, *, first_pause: float, longest_pause: float) -> None:
        self._stop = stop
        self._first_pause, self._longest_pause = first_pause, longest_pause
        self._failures: deque[bool] = deque(maxlen=WINDOW)
        self._pause = 0.0  # 0 while the breaker is closed and calls flow
        self._until = 0.0
        self._probed: asyncio.Event | None = None  # set while a probe is under way

    async def admit(self) -> bool:
        """Wait until calls flow, or until this caller is to be the probe. True for the probe."""
        while self._pause:
            if self._probed is not None:
                await self._probed.wait()
            elif (wait := self._until - time.monotonic()) > 0:
                await self._stop.sleep(wait)
            else:
                self._probed = asyncio.Event()
                return True
        return False

    def record(self, *, failed: bool | None, probe: bool) -> None:
        """Count a finished try; `failed` is None for one that was given up and proves nothing."""
        if probe:
            self._record_probe(failed)
        elif failed is not None and not self._pause:
            self._failures.append(failed)
            if len(self._failures) == WINDOW and sum(self._failures) * 2 >= WINDOW:
                self._open(self._first_pause)

    def _record_probe(self, failed: bool | None) -> None:
        if failed:
            self._open(min(self._pause * 2, self._longest_pause))
        elif failed is not None:
            self._pause = 0.0
        probed, self._probed = self._probed, None
        if probed is not None:
            probed.set()

    def _open(self, pause: float) -> None:
        self._failures.clear()
        self._pause, self._until = pause, time.monotonic() + pause
        LOG.warning("The model endpoint keeps failing; no new calls for %.1f seconds, then one to try.", pause)
