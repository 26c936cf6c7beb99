"""Memories at work: every call has a deadline, a type check and a place in the error; without `fork` they are written anew.

Code that we did not write runs in a process of its own (`others/`), or, for debugging and for services, in a thread with an
event loop of its own; one that blocks holds up nobody else.
"""

import asyncio
import re
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import isawaitable
from typing import Any, Protocol, TypeVar, cast

from assets.llm.ports import Embedder, EndpointError, LanguageModel, ModelReply, ModelRequest, RequestFailed, Vector
from assets.records.base import ItemFailed
from pipelines.memories.code_thread import NEEDED, OPTIONAL, CallOutcome, CodeThread, is_asynchronous
from pipelines.memories.contract import MemoryEvent, MemoryTools, cut_to_budget
from pipelines.memories.lag import BOAT_QUERY, CANARY_TOKENS, canary_events, check_canary
from pipelines.memories.perturbed import perturb
from pipelines.redaction import shareable

T = TypeVar("T")
DEADLINE = 300.0  # seconds that one call may take; waiting for a model of ours counts
CALLS_AT_ONCE = 16  # of one item's memories; more would wait within the memory, where their deadline counts
CLOSING_SECONDS = 30.0  # that a memory has to let go of what it holds
HALF_OF_A_PAIR = re.compile("[\ud800-\udfff]")
Make = Callable[[MemoryTools], object]


class MemoryFailed(Exception):
    """A memory did not do what the contract asks. The message is one sentence; `trace` is the traceback, if there is one."""

    def __init__(self, sentence: str, *, trace: str = "") -> None:
        super().__init__(sentence)
        self.trace = trace


class ErrorOfOthers(Exception):
    """Code of others raised something in a process of its own. `said`: the last line of its traceback."""

    def __init__(self, said: str, *, trace: str = "") -> None:
        super().__init__(said)
        self.said = said
        self.trace = trace


@dataclass(frozen=True, eq=False)
class RemoteValue:
    """A value that stays in another process; the name of its type is what is known of it."""

    type_name: str


class CodePlace(Protocol):
    """A place in which code of others runs: a process of its own, or a thread of this one."""

    async def call(self, function: Callable[[], object], *, on_loop: bool, begun: Callable[[], None]) -> CallOutcome:
        """Return what the function gave or raised there; `begun` is called when it is its turn."""
        ...

    def close(self) -> None:
        """End the place, or let it end as soon as its code lets go."""
        ...


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


async def call_here(function: Callable[..., object], *arguments: object, **named: object) -> object:
    """The result of a function of ours, called where we are."""
    result = function(*arguments, **named)
    return await cast(Awaitable[object], result) if isawaitable(result) else result


@dataclass
class MemoryHost:
    """Makes the memories of one item, and calls them. `place` None: code of ours, which is called directly.

    `asynchronous`: the class has async methods, so that all of them are called where a loop runs. `settle`: seconds that writes
    take until they can be recalled. `perturbed`: the fault that its memories have on purpose.
    """

    name: str
    make: Make
    tools: MemoryTools
    place: CodePlace | None = None
    deadline: float = DEADLINE
    asynchronous: bool = False
    settle: float = 0.0
    perturbed: str = ""
    lost_writes: int = 0
    cut_recalls: int = 0
    late: str = ""
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(CALLS_AT_ONCE))
    _is_late: asyncio.Event = field(default_factory=asyncio.Event)
    _closing: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])

    @classmethod
    def in_thread(
        cls,
        name: str,
        make: Make,
        tools: MemoryTools,
        *,
        deadline: float = DEADLINE,
        asynchronous: bool = False,
        settle: float = 0.0,
    ) -> "MemoryHost":
        """A host for code that we did not write, in a thread of this process, which it can look into."""
        there = ModelOfLoop(asyncio.get_running_loop(), tools.model, tools.embedder)
        return cls(name, make, replace(tools, model=there, embedder=there), CodeThread(), deadline, asynchronous, settle)

    async def new_memory(self) -> "HostedMemory":
        """A memory to which nothing has been written. Raises MemoryFailed."""
        made = await self.make_object()
        methods = await self.methods_of(made, *NEEDED, *OPTIONAL)
        for method in NEEDED:
            if method not in methods:
                raise MemoryFailed(f"Memory {self.name!r} has no method {method!r}; it needs `write` and `recall`.")
        return HostedMemory(self, made, methods)

    async def make_object(self) -> Any:
        """A new object of the class. Raises MemoryFailed."""
        made = await self.call("__init__", self.make, self.tools)
        self.asynchronous = self.asynchronous or is_asynchronous(cast(object, type(made)))
        return made

    async def methods_of(self, made: object, *names: str) -> dict[str, Callable[..., Any]]:
        """Return the methods of these names that the object has. Raises MemoryFailed."""
        methods = dict[str, Callable[..., Any]]()
        for name in names:
            found = await self.call(name, getattr, made, name, None)
            if callable(found):
                methods[name] = found
        if "close" in methods:
            self._closing.append(methods["close"])
        return methods

    async def copied(
        self, made: object, fork: Callable[..., Any], *, needed: Sequence[str]
    ) -> tuple[Any, dict[str, Callable[..., Any]]]:
        """Return what the object's `fork` gives, with its methods. Raises MemoryFailed for what is no copy, such as an id."""
        copy = await self.call("fork", fork)
        given = ""
        if copy is made:
            given = "itself"
        elif copy is None:
            given = "nothing"
        methods = await self.methods_of(copy, *needed, *OPTIONAL) if not given else {}
        if not given and not set(needed) <= set(methods):
            given = f"a value of type {_type_name(copy)}"
        if given:
            raise MemoryFailed(f"Memory {self.name!r} gave {given} as its fork; it must be a copy that shares nothing.")
        return copy, methods

    async def call(self, method: str, function: Callable[..., object], *arguments: object, **named: object) -> Any:
        """The result. Code of others has a deadline, and raises MemoryFailed for whatever goes wrong but in models of ours."""
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
        if isinstance(error, ErrorOfOthers):
            said = shareable(" ".join(error.said.split()))[:300]
            raise MemoryFailed(f"Memory {self.name!r} failed in {method!r}: {said}", trace=shareable(error.trace))
        trace = shareable("".join(traceback.format_exception(outcome.error)))
        # As the trace says it: an error of others may fail once more while it tells its own words.
        said = shareable(" ".join(traceback.format_exception_only(error)[-1].split()))[:300]
        raise MemoryFailed(f"Memory {self.name!r} failed in {method!r}: {said}", trace=trace)

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
            for one in (work, turn, late):
                one.cancel()
        if done:
            # It has cancelled all that runs on its loop.
            return CallOutcome(error=asyncio.CancelledError()) if work.cancelled() else work.result()
        self.late = f"Memory {self.name!r} was not done with {method!r} after {self.deadline:g} seconds."
        self._is_late.set()
        raise MemoryFailed(self.late)

    async def close(self) -> None:
        """Let memories go that have a method `close`, then the place of their code, if there is one."""
        if self.place is None:
            return
        self.deadline = min(self.deadline, CLOSING_SECONDS)
        for close in self._closing:
            # The item has ended, and its answers stay.
            with suppress(MemoryFailed, EndpointError, ItemFailed):
                await self.call("close", close)
        self._closing.clear()
        self.place.close()


def _itself(value: object) -> object:
    return value


def _set_from_thread(loop: asyncio.AbstractEventLoop, event: asyncio.Event) -> None:
    # The loop is closed where the run has ended meanwhile.
    with suppress(RuntimeError):
        loop.call_soon_threadsafe(event.set)


@dataclass
class HostedMemory:
    """A memory behind its host, as everybody else uses it. `written`: what it was given, batch by batch.

    `settled`: all of that can be recalled, as far as anybody knows. `requests`: places of those batches that were requests to
    forget, and not written.
    """

    host: MemoryHost
    memory: Any
    methods: dict[str, Callable[..., Any]]
    written: list[tuple[MemoryEvent, ...]] = field(default_factory=list[tuple[MemoryEvent, ...]])
    settled: bool = True
    requests: set[int] = field(default_factory=set[int])
    _settling: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        """Write. A model that cannot be understood loses the write, which is counted."""
        self.written.append(tuple(events))
        self.settled = False
        try:
            await self.host.call("write", self.methods["write"], list(events))
        except (ItemFailed, RequestFailed):
            self.host.lost_writes += 1

    async def forget(self, request: MemoryEvent) -> bool:
        """Ask the memory to forget something. Return False for one that cannot, which is given the request to write."""
        place = len(self.written)
        try:
            followed = "forget" in self.methods and await self.host.call("forget", self.methods["forget"], request)
        except (ItemFailed, RequestFailed):
            self.host.lost_writes += 1
            followed = None
        if followed is False:
            await self.write([request])
            return False
        self.requests.add(place)
        self.written.append((request,))
        self.settled = False
        return True

    async def recall(self, query: str, *, tokens: int, settled: bool = True) -> list[str]:
        """Return what the memory gives back, checked and cut to the budget. Raises MemoryFailed, and MemoryLags.

        `settled` False: without waiting for what it still has to do.
        """
        if settled:
            await self.settle()
        given = await self.host.call("recall", self.methods["recall"], query, tokens=tokens)
        texts = _texts(self.host.name, given)
        # Cut first: what lies far behind the budget is not looked at.
        kept = [checked_text(self.host.name, "recall", text) for text in cut_to_budget(texts, tokens)]
        self.host.cut_recalls += kept != texts
        if self.host.perturbed:
            written = [event.text for batch in self.written for event in batch]
            kept = perturb(self.host.perturbed, kept, written=written, query=query)
        return kept

    async def fork(self) -> "HostedMemory":
        """Its own copy, or a new memory to which the same is written. Raises MemoryFailed, and MemoryLags."""
        await self.settle()
        if "fork" in self.methods:
            copy, methods = await self.host.copied(self.memory, self.methods["fork"], needed=NEEDED)
            # A copy that is written anew behind `fork` has to settle too.
            settled = not self.written
            return HostedMemory(self.host, copy, methods, list(self.written), settled, requests=set(self.requests))
        anew = await self.host.new_memory()
        for place, events in enumerate(self.written):
            if place in self.requests:
                await anew.forget(events[0])
            else:
                await anew.write(events)
        return anew

    async def stored_bytes(self) -> int | None:
        """Return the bytes of all that the memory holds; None where it does not tell. Raises MemoryFailed."""
        if "stored_bytes" not in self.methods:
            return None
        given = await self.host.call("stored_bytes", self.methods["stored_bytes"])
        if given is None or (type(given) is int and given >= 0):
            return given
        raise MemoryFailed(
            f"Memory {self.host.name!r} gave {_type_name(given)} from 'stored_bytes'; it must be bytes from 0 on."
        )

    @property
    def settles(self) -> bool:
        """True for a memory that may finish its writes later."""
        return "settle" in self.methods or bool(self.host.settle and self.host.place)

    async def settle(self) -> None:
        """Let the memory finish what was written since it was last asked. Raises MemoryFailed, and MemoryLags."""
        async with self._settling:
            if self.settled:
                return
            if "settle" in self.methods:
                await self.host.call("settle", self.methods["settle"])
            if self.host.settle and self.host.place:
                await self._wait_with_canary(self.host.settle)
            self.settled = True

    async def _wait_with_canary(self, seconds: float) -> None:
        canary = await self.host.new_memory()
        await canary.write(canary_events(like=self.written[-1]))
        await asyncio.sleep(seconds)
        if "settle" in canary.methods:
            await self.host.call("settle", canary.methods["settle"])
        canary.settled = True
        check_canary(await canary.recall(BOAT_QUERY, tokens=CANARY_TOKENS), name=self.host.name, seconds=seconds)


def _texts(name: str, given: object) -> list[str]:
    if not isinstance(given, list | tuple):
        kind = _type_name(given)
        raise MemoryFailed(f"Memory {name!r} gave {kind} from 'recall'; it must be a list of texts, which may be empty.")
    texts = list[str]()
    for text in cast(Sequence[object], given):
        if not isinstance(text, str):
            raise MemoryFailed(f"Memory {name!r} gave {_type_name(text)} from 'recall' where a text must stand.")
        # Its letters, whatever its class says of its length and its parts: the budget is cut by these.
        plain = str.__str__(text)
        if plain and not plain.isspace():
            texts.append(plain)
    return texts


def checked_text(name: str, method: str, given: object) -> str:
    """The text, as a plain one. Raises MemoryFailed for what is none, or cannot be written to a file."""
    if not isinstance(given, str):
        raise MemoryFailed(f"Memory {name!r} gave {_type_name(given)} from {method!r} where a text must stand.")
    given = str.__str__(given)
    if not given.isascii() and HALF_OF_A_PAIR.search(given):
        raise MemoryFailed(f"Memory {name!r} gave half of a surrogate pair from {method!r}, which no file can hold.")
    return given


def _type_name(given: object) -> str:
    """Return the name of a value's type, also of one that stays in another process."""
    return given.type_name if isinstance(given, RemoteValue) else type(given).__name__
