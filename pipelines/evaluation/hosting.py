"""Memories at work: every call has a deadline, a type check and a place in the error; without `fork` they are written anew.

Code that we did not write runs in a thread with an event loop of its own, so that one that blocks holds up nobody else.
"""

import asyncio
import threading
import traceback
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from inspect import isawaitable
from typing import Any, TypeVar, cast

from assets.llm.ports import Embedder, EndpointError, LanguageModel, ModelReply, ModelRequest, RequestFailed, Vector
from assets.records.base import ItemFailed
from pipelines.evaluation.contract import MemoryEvent, MemoryTools, cut_to_budget

T = TypeVar("T")
DEADLINE = 300.0  # seconds that one call may take; waiting for a model of ours counts
Make = Callable[[MemoryTools], object]


class MemoryFailed(Exception):
    """A memory did not do what the contract asks. The message is one sentence; `trace` is the traceback, if there is one."""

    def __init__(self, sentence: str, *, trace: str = "") -> None:
        super().__init__(sentence)
        self.trace = trace


@dataclass(frozen=True)
class ModelOfLoop:
    """A model or an embedder of one event loop, for callers on another."""

    loop: asyncio.AbstractEventLoop
    model: LanguageModel
    embedder: Embedder

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Complete on the model's own loop."""
        return await self._there(self.model.complete(request))

    async def embed(self, texts: Sequence[str], *, model: str) -> list[Vector]:
        """Embed on the embedder's own loop."""
        return await self._there(self.embedder.embed(texts, model=model))

    async def _there(self, work: Awaitable[T]) -> T:
        async def awaited() -> T:
            return await work

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(awaited(), self.loop))


class CodeThread:
    """A thread with an event loop for code of others. It ends with the process at the latest, whatever that code does."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._run, name="memory", daemon=True).start()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:  # which cancels what is left there
            runner.get_loop().run_forever()

    async def call(self, function: Callable[..., object], *arguments: object, **named: object) -> object:
        """The result of a plain or async function. Raises whatever it raises."""

        async def work() -> object:
            try:
                result = function(*arguments, **named)
                return await result if isawaitable(result) else result
            except (SystemExit, KeyboardInterrupt) as error:
                raise RuntimeError(f"it tried to end the process ({type(error).__name__}: {error})") from error

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work(), self._loop))

    def close(self) -> None:
        """Let the thread end as soon as its code lets go."""
        self._loop.call_soon_threadsafe(self._loop.stop)


async def call_here(function: Callable[..., object], *arguments: object, **named: object) -> object:
    """The result of a function of ours, called where we are."""
    result = function(*arguments, **named)
    return await cast(Awaitable[object], result) if isawaitable(result) else result


@dataclass
class MemoryHost:
    """Makes the memories of one item, and calls them. `thread` None: code of ours, which is called directly."""

    name: str
    make: Make
    tools: MemoryTools
    thread: CodeThread | None = None
    deadline: float = DEADLINE
    lost_writes: int = 0
    cut_recalls: int = 0

    @classmethod
    def of_others(cls, name: str, make: Make, tools: MemoryTools, *, deadline: float = DEADLINE) -> "MemoryHost":
        """A host for code that we did not write."""
        there = ModelOfLoop(asyncio.get_running_loop(), tools.model, tools.embedder)
        return cls(name, make, replace(tools, model=there, embedder=there), CodeThread(), deadline)

    async def new_memory(self) -> "HostedMemory":
        """A memory to which nothing has been written. Raises MemoryFailed."""
        made = await self.make_object()
        for method in ("write", "recall"):
            if not callable(await self.call(method, getattr, made, method, None)):
                raise MemoryFailed(f"Memory {self.name!r} has no method {method!r}; it needs `write` and `recall`.")
        return HostedMemory(self, made)

    async def make_object(self) -> Any:
        """A new object of the class. Raises MemoryFailed."""
        return await self.call("__init__", self.make, self.tools)

    async def call(self, method: str, function: Callable[..., object], *arguments: object, **named: object) -> Any:
        """The result. Code of others has a deadline, and raises MemoryFailed for whatever goes wrong but in models of ours."""
        if self.thread is None:
            return await call_here(function, *arguments, **named)
        work = asyncio.ensure_future(self.thread.call(function, *arguments, **named))
        try:
            done, _ = await asyncio.wait([work], timeout=self.deadline)
        finally:
            work.cancel()
        if not done:
            raise MemoryFailed(f"Memory {self.name!r} was not done with {method!r} after {self.deadline:g} seconds.")
        error = work.exception()
        if error is None:
            return work.result()
        if isinstance(error, EndpointError | ItemFailed | MemoryFailed):
            raise error
        trace = "".join(traceback.format_exception(error))
        # As the trace says it: an error of others may fail once more while it tells its own words.
        said = " ".join(traceback.format_exception_only(error)[-1].split())[:300]
        raise MemoryFailed(f"Memory {self.name!r} failed in {method!r}: {said}", trace=trace)

    def close(self) -> None:
        """Let the thread go, if there is one."""
        if self.thread:
            self.thread.close()


@dataclass
class HostedMemory:
    """A memory behind its host, as everybody else uses it. `written`: what it was given, batch by batch."""

    host: MemoryHost
    memory: Any
    written: list[tuple[MemoryEvent, ...]] = field(default_factory=list[tuple[MemoryEvent, ...]])

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        """Write. A model that cannot be understood loses the write, which is counted."""
        self.written.append(tuple(events))
        try:
            await self.host.call("write", self.memory.write, list(events))
        except (ItemFailed, RequestFailed):
            self.host.lost_writes += 1

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        """What the memory gives back, checked and cut to the budget. Raises MemoryFailed."""
        given = await self.host.call("recall", self.memory.recall, query, tokens=tokens)
        texts = _texts(self.host.name, given)
        kept = cut_to_budget(texts, tokens)
        self.host.cut_recalls += kept != texts
        return kept

    async def fork(self) -> "HostedMemory":
        """Its own copy, or a new memory to which the same is written."""
        if callable(getattr(self.memory, "fork", None)):
            copy = await self.host.call("fork", self.memory.fork)
            if copy is None or copy is self.memory:
                kind = "nothing" if copy is None else "itself"
                raise MemoryFailed(f"Memory {self.host.name!r} gave {kind} as its fork; it must be a copy that stands alone.")
            return HostedMemory(self.host, copy, list(self.written))
        anew = await self.host.new_memory()
        for events in self.written:
            await anew.write(events)
        return anew


def _texts(name: str, given: object) -> list[str]:
    if not isinstance(given, list | tuple):
        kind = type(given).__name__
        raise MemoryFailed(f"Memory {name!r} gave {kind} from 'recall'; it must be a list of texts, which may be empty.")
    texts = [checked_text(name, "recall", text) for text in cast(Sequence[object], given)]
    return [text for text in texts if text.strip()]


def checked_text(name: str, method: str, given: object) -> str:
    """The text. Raises MemoryFailed for what is none, or cannot be written to a file."""
    if not isinstance(given, str):
        raise MemoryFailed(f"Memory {name!r} gave {type(given).__name__} from {method!r} where a text must stand.")
    if not given.isascii() and any("\ud800" <= letter <= "\udfff" for letter in given):
        raise MemoryFailed(f"Memory {name!r} gave half of a surrogate pair from {method!r}, which no file can hold.")
    return given
