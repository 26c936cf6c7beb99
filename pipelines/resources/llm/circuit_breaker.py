"""When an endpoint keeps failing: pause everyone, try with one; and when it is lost: stop everyone."""

import asyncio
import logging
import time
from collections import deque

from assets.llm.ports import EndpointError

WINDOW = 20
LOG = logging.getLogger(__name__)


class Halt:
    """The sentence that ends a run. Once it is called, every wait ends and every further call fails with it."""

    def __init__(self) -> None:
        self._called = asyncio.Event()
        self._sentence = ""

    def call(self, sentence: str) -> None:
        """End the run; the first sentence stays."""
        self._sentence = self._sentence or sentence
        self._called.set()

    def check(self) -> None:
        """Raise EndpointError when the run has ended."""
        if self._sentence:
            raise EndpointError(self._sentence)

    async def rest(self, seconds: float) -> None:
        """Wait, at most until the run ends. Raises EndpointError when it has ended, also with nothing to wait for."""
        self.check()
        if seconds <= 0:
            return
        try:
            async with asyncio.timeout(seconds):
                await self._called.wait()
        except TimeoutError:
            return
        self.check()


class Breaker:
    """Pauses new tries when half of the last twenty failed; then one probe decides. It serves one event loop."""

    def __init__(self, halt: Halt, *, first_pause: float, longest_pause: float) -> None:
        self._halt = halt
        self._first_pause, self._longest_pause = first_pause, longest_pause
        self._failures: deque[bool] = deque(maxlen=WINDOW)
        self._pause = 0.0  # 0 while calls flow
        self._until = 0.0
        self._verdict: asyncio.Event | None = None  # there while a probe is out

    async def admit(self) -> bool:
        """Wait until calls flow, or until it is this caller's turn to be the probe. True for the probe."""
        while self._pause:
            if self._verdict is not None:
                await self._verdict.wait()
            elif (wait := self._until - time.monotonic()) > 0:
                await self._halt.rest(wait)
            else:
                self._verdict = asyncio.Event()
                return True
        return False

    def record(self, *, failed: bool | None, probe: bool) -> None:
        """Count a finished try; `failed` is None for one that was given up and proves nothing."""
        if probe:
            self._judge(failed)
        elif failed is not None and not self._pause:
            self._failures.append(failed)
            if len(self._failures) == WINDOW and sum(self._failures) * 2 >= WINDOW:
                self._open(self._first_pause)

    def _judge(self, failed: bool | None) -> None:
        if failed:
            self._open(min(self._pause * 2, self._longest_pause))
        elif failed is not None:
            self._pause = 0.0
        verdict, self._verdict = self._verdict, None
        if verdict is not None:
            verdict.set()

    def _open(self, pause: float) -> None:
        self._failures.clear()
        self._pause, self._until = pause, time.monotonic() + pause
        LOG.warning("The model endpoint keeps failing; no new calls for %.1f seconds, then one to try.", pause)
