"""The endpoint as one run sees it: when it last replied, which users it failed, and the error that ends the run."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager
from math import inf
from typing import NoReturn

from assets.llm.ports import EndpointError, ModelRequest, RequestFailed
from assets.reporting.plurals import counted
from pipelines.resources.llm.retry import ENDS_THE_RUN, MAX_SECONDS, RUN_AGAIN, SUSPECT_ADDRESS, CallFailure

# More than two prompts that happen to be bad; each user more costs the run another set of tries.
SEVERAL_USERS = 3
# So many times the longest silence that a reply has ended is worth a warning: where calls are slow, waiting is usual.
UNUSUAL = 3
SILENT = "has not answered"
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


class EndpointHealth:
    """Decides whether a failure costs one user or ends the run, and ends a run that gets no reply for long.

    While calls wait and no reply comes, it warns once after `warn_after` seconds, later where calls take long here; after
    `longest_silence` seconds the run ends. `served` is true once a reply has come.
    """

    def __init__(self, stop: StopSignal, *, endpoint: str, warn_after: float, longest_silence: float) -> None:
        self.served = False
        self._stop = stop
        self._endpoint = endpoint
        self._warn_after = warn_after
        self._longest_silence = longest_silence
        self._waiting = 0
        self._replied_at = 0.0
        self._usual_silence = 0.0
        self._warn_at = warn_after
        self._problem = SILENT
        self._timer: asyncio.TimerHandle | None = None
        self._failed_users: set[str] = set()
        self._failed_users_by_prompt: defaultdict[tuple[str, str], set[str]] = defaultdict(set)

    @contextmanager
    def watch_call(self) -> Generator[None]:
        """Watch a call with all its tries and waits: while there is one, silence is counted."""
        loop = asyncio.get_running_loop()
        if not self._waiting:
            self._begin_silence(loop.time())
            self._timer = loop.call_later(self._warn_after, self._look)
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting and self._timer is not None:
                self._timer.cancel()

    def note_reply(self, request: ModelRequest) -> None:
        """Note that the endpoint serves, and serves requests of this prompt."""
        self.served = True
        now = asyncio.get_running_loop().time()
        self._usual_silence = max(self._usual_silence, now - self._replied_at)
        self._begin_silence(now)
        self._problem = SILENT
        self._failed_users.clear()
        self._failed_users_by_prompt.pop(_prompt_of(request), None)

    def note_failure(self, failure: CallFailure) -> None:
        """Note what the next warning says of the endpoint."""
        self._problem = failure.problem

    def give_up(self, request: ModelRequest, failure: CallFailure, *, message: str) -> NoReturn:
        """Raise RequestFailed where the request may be at fault, so that its user is replaced; else end the run."""
        wrong_address = failure.kind in SUSPECT_ADDRESS and not self.served
        # What can be asked in parts is asked so, and says nothing of its user yet.
        several = not request.labels.divisible and self._several_users_failed(request)
        # A pause that nobody waits for, as until a daily limit is renewed, is asked of all requests.
        paused = failure.kind == "limited" and failure.retry_after > MAX_SECONDS
        if failure.kind in ENDS_THE_RUN or wrong_address or several or paused:
            self._stop.set(message)
            raise EndpointError(message)
        raise RequestFailed(message)

    def _several_users_failed(self, request: ModelRequest) -> bool:
        """Count a user whose request failed. Return True when several failed and nobody got a reply in between.

        A prompt that the model takes from nobody is at fault too, though replies to other prompts come.
        """
        user = request.labels.item_id
        of_prompt = self._failed_users_by_prompt[_prompt_of(request)]
        self._failed_users.add(user)
        of_prompt.add(user)
        return max(len(self._failed_users), len(of_prompt)) >= SEVERAL_USERS

    def _begin_silence(self, now: float) -> None:
        self._replied_at = now
        self._warn_at = max(self._warn_after, UNUSUAL * self._usual_silence)

    def _look(self) -> None:
        """Warn of a silence, or end the run because of it; then look again later."""
        loop = asyncio.get_running_loop()
        silent = loop.time() - self._replied_at
        if silent >= self._longest_silence:
            self._stop.set(
                f"The model endpoint {self._endpoint} has given no usable reply for {silent:.0f} seconds and {self._problem}; "
                f"wait until it has recovered and {RUN_AGAIN}."
            )
            return
        if silent >= self._warn_at:
            self._warn_at = inf
            verb = "waits" if self._waiting == 1 else "wait"
            calls = f"{counted(self._waiting, 'call')} {verb}"
            words = "No usable reply from %s for %.0f seconds (it %s); %s, and the run ends after %.0f seconds."
            LOG.warning(words, self._endpoint, silent, self._problem, calls, self._longest_silence)
        self._timer = loop.call_later(self._warn_after, self._look)


def _prompt_of(request: ModelRequest) -> tuple[str, str]:
    return request.model, request.labels.prompt
