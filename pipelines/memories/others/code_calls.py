"""Calls of code of others: each has a deadline, and whatever goes wrong in it becomes one sentence.

Code that we did not write runs in a process of its own (`others/`), or, for debugging and for services, in a thread with an
event loop of its own; one that blocks holds up nobody else.
"""

import asyncio
import traceback
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from inspect import isawaitable
from typing import Any, Protocol, cast

from assets.llm.ports import EndpointError
from assets.records.base import ItemFailed
from pipelines.memories.failures import MemoryFailed, PassingFailure, may_pass, place_in, with_hint
from pipelines.memories.others.code_thread import CallOutcome
from pipelines.memories.others.private_imports import with_plain_names
from pipelines.redaction import shareable

DEADLINE = 300.0  # seconds that one call may take; waiting for a model of ours counts
CALLS_AT_ONCE = 16  # of one item's memories; more would wait within the memory, where their deadline counts


class ErrorOfOthers(Exception):
    """Code of others raised something in a process of its own. `said`: the last line of its traceback.

    `passing`: another try may do. `hint`: what to do where the sandbox is the reason.
    """

    def __init__(self, said: str, *, trace: str = "", passing: bool = False, hint: str = "") -> None:
        super().__init__(said)
        self.said = said
        self.trace = trace
        self.passing = passing
        self.hint = hint


@dataclass(frozen=True, eq=False)
class RemoteValue:
    """A value that stays in another process; the name of its type is what is known of it."""

    type_name: str


class CodePlace(Protocol):
    """A place in which code of others runs: a process of its own, or a thread of this one."""

    async def call(self, function: Callable[[], object], *, on_loop: bool, begun: Callable[[], None]) -> CallOutcome:
        """Return what the function gave or raised there; `begun` is called when it is its turn."""
        ...

    @property
    def has_background(self) -> bool:
        """True where something may go on while nothing is called."""
        ...

    def close(self) -> None:
        """End the place, or let it end as soon as its code lets go."""
        ...


async def call_here(function: Callable[..., object], *arguments: object, **named: object) -> object:
    """The result of a function of ours, called where we are."""
    result = function(*arguments, **named)
    return await cast(Awaitable[object], result) if isawaitable(result) else result


@dataclass
class CodeCaller:
    """Calls code in its place, for a memory of this name. `place` None: code of ours, which is called directly.

    `asynchronous`: the class has async methods, so that all of them are called where a loop runs. `late`: a sentence, once a
    call was not done in time.
    """

    name: str
    place: CodePlace | None = None
    deadline: float = DEADLINE
    asynchronous: bool = False
    late: str = ""
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CALLS_AT_ONCE))
    _is_late: asyncio.Event = field(default_factory=asyncio.Event)

    async def call(self, method: str, function: Callable[..., object], *arguments: object, **named: object) -> Any:
        """The result of one try. Code of others has a deadline.

        Raises MemoryFailed for whatever goes wrong but in models of ours, PassingFailure among it.
        """
        if self.place is None:
            return await call_here(function, *arguments, **named)
        async with self._slots:
            outcome = await self._in_time(method, partial(function, *arguments, **named), on_loop=self.asynchronous)
            if isawaitable(outcome.result):
                outcome = await self._in_time(method, partial(_itself, outcome.result), on_loop=True)
        error = outcome.failure
        if error is None:
            return outcome.result
        if isinstance(error, EndpointError | ItemFailed | MemoryFailed):
            raise error
        if not isinstance(error, ErrorOfOthers):
            # As the trace says it: an error of others may fail once more while it tells its own words.
            said = with_plain_names(traceback.format_exception_only(error)[-1])
            error = ErrorOfOthers(said, trace="".join(traceback.format_exception(outcome.error)), passing=may_pass(error))
        said = shareable(" ".join(error.said.split()))[:300]
        sentence = with_hint(f"Memory {self.name!r} failed in {method!r}: {said}{place_in(error.trace)}", error.hint)
        failed = PassingFailure if error.passing else MemoryFailed
        raise failed(sentence, trace=shareable(error.trace))

    async def _in_time(self, method: str, function: Callable[[], object], *, on_loop: bool) -> CallOutcome:
        """Return the outcome. The deadline begins with the function's turn; behind one that is late there are no more turns."""
        assert self.place is not None
        if self.late:
            raise MemoryFailed(self.late)
        loop = asyncio.get_running_loop()
        begun = asyncio.Event()
        work = asyncio.ensure_future(self.place.call(function, on_loop=on_loop, begun=partial(_set_from_thread, loop, begun)))
        turn = asyncio.ensure_future(begun.wait())
        late = asyncio.ensure_future(self._is_late.wait())
        try:
            await asyncio.wait([work, turn, late], return_when=asyncio.FIRST_COMPLETED)
            if not turn.done() and not work.done():
                raise MemoryFailed(self.late)
            done, _ = await asyncio.wait([work], timeout=self.deadline)
        finally:
            for task in (work, turn, late):
                task.cancel()
        if done:
            # It has cancelled all that runs on its loop.
            return CallOutcome(error=asyncio.CancelledError()) if work.cancelled() else work.result()
        self.late = f"Memory {self.name!r} was not done with {method!r} after {self.deadline:g} seconds."
        self._is_late.set()
        raise MemoryFailed(self.late)


def _itself(value: object) -> object:
    return value


def _set_from_thread(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    # The loop is closed where the run has ended meanwhile.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(event.set)
