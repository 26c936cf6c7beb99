"""Calls that wait for a batch job to be filled."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from assets.llm.ports import EndpointError, ModelReply, ModelRequest
from pipelines.resources.llm.batch.settings import BatchSettings
from pipelines.resources.llm.compatibility import Dialect


@dataclass(eq=False)
class Caller:
    """One call that waits for its reply. `jobs` and `pauses` count how often its line was sent, and put off, in vain."""

    request: ModelRequest
    custom_id: str
    reply: asyncio.Future[ModelReply]
    sent: Dialect | None = None
    jobs: int = 0
    pauses: int = 0

    def answer(self, reply: ModelReply) -> None:
        """Give the reply, unless the caller has left."""
        if not self.reply.done():
            self.reply.set_result(reply)

    def fail(self, error: BaseException) -> None:
        """Give what ends the run, unless the caller has left. Those who wait together get errors of their own."""
        if not self.reply.done():
            self.reply.set_exception(EndpointError(str(error)) if isinstance(error, EndpointError) else error)


class Gathering:
    """Callers of one model, until it closes: when nobody has joined for a while, when it is full, or when it is late."""

    def __init__(self, timing: BatchSettings, *, most: int, close: Callable[[list[Caller]], None]) -> None:
        self._timing, self._most, self._close = timing, most, close
        self._loop = asyncio.get_running_loop()
        self._latest = self._loop.time() + timing.longest_gathering
        self._timer: asyncio.TimerHandle | None = None
        self._callers: list[Caller] = []

    def add(self, caller: Caller) -> None:
        """Take a caller in."""
        self._callers.append(caller)
        self.disperse()
        if len(self._callers) >= self._most:
            self._end()
        else:
            self._timer = self._loop.call_at(min(self._loop.time() + self._timing.quiet, self._latest), self._end)

    def disperse(self) -> None:
        """Stop waiting for more."""
        if self._timer is not None:
            self._timer.cancel()

    def _end(self) -> None:
        callers, self._callers = self._callers, []
        self._close([caller for caller in callers if not caller.reply.done()])
