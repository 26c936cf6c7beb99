"""When an endpoint keeps failing: pause everyone and try with one call. When it is lost: stop everyone.

What fails for one request alone is neither: its user is given up, and the run goes on.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Generator
from contextlib import contextmanager

from assets.llm.ports import EndpointError, ModelRequest
from assets.reporting.plurals import counted
from pipelines.resources.llm.retry import RUN_AGAIN, CallFailure

WINDOW = 20
LATER = 0.1  # of the first pause, for each failed try
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


class GivenUpRequests:
    """Users whose requests were given up since the last reply of the same kind: by model, prompt and what was wrong."""

    def __init__(self) -> None:
        self._users: dict[tuple[str, str, str], set[str]] = {}

    def count(self, request: ModelRequest, failure: CallFailure) -> int:
        """Count a request that was given up; how many users have failed alike."""
        # A message quotes numbers and names of its request, a status does not.
        key = (request.model, request.labels.prompt, str(failure.status or failure.problem))
        users = self._users.setdefault(key, set())
        users.add(request.labels.item_id)
        return len(users)

    def answered(self, request: ModelRequest) -> None:
        """A user has passed where others had failed."""
        for key in [key for key in self._users if key[:2] == (request.model, request.labels.prompt)]:
            if request.labels.item_id not in self._users[key]:
                del self._users[key]


class SilenceWatch:
    """Says so while calls wait and no usable reply comes; after `longest` seconds it ends the run."""

    def __init__(self, stop: StopSignal, *, endpoint: str, every: float, longest: float) -> None:
        self._stop, self._endpoint, self._every, self._longest = stop, endpoint, every, longest
        self._waiting = 0
        self._since = 0.0
        self._problem = "has not answered"
        self._timer: asyncio.TimerHandle | None = None

    @contextmanager
    def waiting(self) -> Generator[None]:
        """Around a call, with all its tries and pauses."""
        if not self._waiting:
            self._since = time.monotonic()
            self._timer = asyncio.get_running_loop().call_later(self._every, self._look)
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting and self._timer is not None:
                self._timer.cancel()

    def answered(self) -> None:
        """A usable reply has come."""
        self._since, self._problem = time.monotonic(), "has not answered"

    def failed(self, failure: CallFailure) -> None:
        """What the next words say of the endpoint."""
        self._problem = failure.problem

    def _look(self) -> None:
        silent = time.monotonic() - self._since
        if silent >= self._longest:
            self._stop.set(
                f"The model endpoint {self._endpoint} has given no usable reply for {silent:.0f} seconds and {self._problem}; "
                f"wait until it has recovered and {RUN_AGAIN}."
            )
            return
        if silent >= self._every:
            calls = f"{counted(self._waiting, 'call')} wait{'s' if self._waiting == 1 else ''}"
            words = "No usable reply from %s for %.0f seconds (it %s); %s, and the run ends after %.0f seconds."
            LOG.warning(words, self._endpoint, silent, self._problem, calls, self._longest)
        self._timer = asyncio.get_running_loop().call_later(self._every, self._look)


class CircuitBreaker:
    """Pauses new tries when half of the last twenty failed; then one probe decides. It serves one event loop."""

    def __init__(
        self, stop: StopSignal, *, first_pause: float, longest_pause: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._stop, self._clock = stop, clock
        self._first_pause, self._longest_pause = first_pause, longest_pause
        self._failures: deque[bool] = deque(maxlen=WINDOW)
        self._pause = 0.0  # 0 while the breaker is closed and calls flow
        self._until = 0.0
        self._probed: asyncio.Event | None = None  # set while a probe is under way

    async def admit(self, *, tries: int = 0) -> bool:
        """Wait until calls flow, or until this caller is to be the probe. True for the probe.

        `tries`: how often it has failed. The least goes first: the endpoint may be well, and a request not.
        """
        while self._pause:
            if self._probed is not None:
                await self._probed.wait()
            elif (wait := self._until + tries * LATER * self._first_pause - self._clock()) > 0:
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
        self._pause, self._until = pause, self._clock() + pause
        LOG.warning("The model endpoint keeps failing; no new calls for %.1f seconds, then one to try.", pause)
