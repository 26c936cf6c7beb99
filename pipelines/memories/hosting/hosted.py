"""Memories at work: what they give back is checked and cut to its budget; without `fork` they are written anew."""

import asyncio
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

from assets.llm.ports import EndpointError, RequestFailed
from assets.records.base import ItemFailed
from pipelines.memories.contract import MemoryEvent, cut_to_budget
from pipelines.memories.failures import CallCount, CallLost, MemoryFailed, Retries
from pipelines.memories.hosting.canary import BOAT_QUERY, CANARY_TOKENS, canary_events, check_canary
from pipelines.memories.others.code_calls import CodeCaller, RemoteValue
from pipelines.memories.others.code_thread import NEEDED, OPTIONAL, CodeThread, is_asynchronous
from pipelines.memories.perturbed import perturb
from pipelines.memories.tools import MemoryTools, ModelOfLoop

CLOSING_SECONDS = 30.0  # that a memory has to let go of what it holds
HALF_OF_A_PAIR = re.compile("[\ud800-\udfff]")
Make = Callable[[MemoryTools], object]


@dataclass(kw_only=True)
class MemoryHost(CodeCaller):
    """Makes the memories of one item, and calls them.

    `settle`: seconds that writes take until they can be recalled. `perturbed`: the fault that its memories have on purpose.
    `retries`: of calls that fail for a reason that passes; a service makes its own.
    """

    make: Make
    tools: MemoryTools
    settle: float = 0.0
    perturbed: str = ""
    retries: Retries = field(default_factory=Retries)
    cut_recalls: int = 0
    _closing: list[Callable[[], object]] = field(default_factory=list[Callable[[], object]])

    @classmethod
    def in_thread(cls, name: str, make: Make, tools: MemoryTools, *, asynchronous: bool = False) -> "MemoryHost":
        """A host for code that we did not write, in a thread of this process, which it can look into."""
        there = ModelOfLoop(asyncio.get_running_loop(), tools.model, tools.embedder)
        tools = replace(tools, model=there, embedder=there)
        return cls(name, CodeThread(), asynchronous=asynchronous, make=make, tools=tools)

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
        made = await self.retries.call("__init__", partial(self.call, "__init__", self.make, self.tools))
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

    async def methods_of_copy(self, made: object, copy: object, *, needed: Sequence[str]) -> dict[str, Callable[..., Any]]:
        """Return the methods of what the object's `fork` gave. Raises MemoryFailed for what is no copy, such as an id."""
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
        return methods

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
        """Write. A write is lost, and counted as lost, where no try succeeds or a model cannot be understood."""
        self.written.append(tuple(events))
        self.settled = False
        await self._change("write", list(events), before=len(self.written) - 1)

    async def _change(self, method: str, argument: object, *, before: int) -> object:
        """Return what a method gives that changes the memory; None where the change was lost.

        A try that failed may have left half of it, so that the next one is made on a new memory, after the batches `before`.
        """
        tries = 0

        async def try_once() -> object:
            nonlocal tries
            tries += 1
            if tries > 1:
                anew = await self._write_anew(before)
                self.memory = anew.memory
                self.methods = anew.methods
            return await self.host.call(method, self.methods[method], argument)

        try:
            return await self.host.retries.call(method, try_once)
        except (ItemFailed, RequestFailed):
            self.host.retries.count(method, CallCount(lost=1))
        except CallLost:
            pass  # it was counted where it was given up
        return None

    async def _write_anew(self, batches: int) -> "HostedMemory":
        """Return a new memory to which so many of the batches are written."""
        anew = await self.host.new_memory()
        for place, events in enumerate(self.written[:batches]):
            if place in self.requests:
                await anew.forget(events[0])
            else:
                await anew.write(events)
        return anew

    async def forget(self, request: MemoryEvent) -> bool:
        """Ask the memory to forget something. Return False for one that cannot, which is given the request to write."""
        place = len(self.written)
        followed = "forget" in self.methods and await self._change("forget", request, before=place)
        if followed is False:
            await self.write([request])
            return False
        self.requests.add(place)
        self.written.append((request,))
        self.settled = False
        return True

    async def recall(self, query: str, *, tokens: int, settled: bool = True) -> list[str]:
        """Return what the memory gives back, checked and cut to the budget. Raises MemoryFailed, CallLost, and MemoryLags.

        `settled` False: without waiting for what it still has to do.
        """
        if settled:
            await self.settle()
        ask = partial(self.host.call, "recall", self.methods["recall"], query, tokens=tokens)
        given = await self.host.retries.call("recall", ask)
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
        copy: object = False
        if "fork" in self.methods:
            with suppress(CallLost):
                copy = await self.host.retries.call("fork", partial(self.host.call, "fork", self.methods["fork"]))
        if copy is False:  # it has no copies, or could make none now
            return await self._write_anew(len(self.written))
        methods = await self.host.methods_of_copy(self.memory, copy, needed=NEEDED)
        # A copy that is written anew behind `fork` has to settle too.
        settled = not self.written
        return HostedMemory(self.host, copy, methods, list(self.written), settled, requests=set(self.requests))

    async def stored_bytes(self) -> int | None:
        """Return the bytes of all that the memory holds; None where it does not tell. Raises MemoryFailed."""
        if "stored_bytes" not in self.methods:
            return None
        given = None
        with suppress(CallLost):
            ask = partial(self.host.call, "stored_bytes", self.methods["stored_bytes"])
            given = await self.host.retries.call("stored_bytes", ask)
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
                with suppress(CallLost):
                    await self.host.retries.call("settle", partial(self.host.call, "settle", self.methods["settle"]))
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
