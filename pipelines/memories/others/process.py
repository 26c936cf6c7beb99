"""Processes for memories of others, as this process sees them: asked by lines of JSON; their models are asked here."""

import asyncio
import contextlib
import dataclasses
import json
import sys
import tempfile
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from importlib.util import source_from_cache
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from assets.isolation.boundary import Kind, Residence
from assets.isolation.limits import DEFAULT_LIMITS, ResidentLimits
from assets.llm.ports import EndpointError, ModelRequest
from assets.records.base import ItemFailed
from pipelines.memories.contract import MemoryEvent, Setting
from pipelines.memories.failures import MemoryFailed, place_in, with_hint
from pipelines.memories.others import private_imports
from pipelines.memories.others.code_calls import ErrorOfOthers, RemoteValue
from pipelines.memories.others.code_thread import CallOutcome
from pipelines.memories.others.line_program import LineProgram
from pipelines.memories.tools import MemoryTools

PROGRAM = Path(__file__).with_name("worker.py")
NOT_OF_MEMORIES = (*(private_imports.ROOT / name for name in private_imports.FOLDERS), Path(sys.prefix))
REQUEST = TypeAdapter(ModelRequest)
NAMES = TypeAdapter(list[str])
MAKING = "__init__"
SHARED = "all memories of a user share one process and its home folder; the setting apart=true gives each its own"


@dataclass(frozen=True)
class ForeignCode:
    """The class of a memory, as its process finds it: in a file, or in a module on the path. `shown_as`: its name in errors.

    `apart`: each memory that is made has a process and a home of its own, which it shares with its own copies. `models`: the
    settings that name models of the run, for a class that takes these too.
    """

    attribute: str
    shown_as: str
    settings: Mapping[str, Setting]
    file: str = ""
    module: str = ""
    path: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    network: bool = False
    apart: bool = False
    kind: Kind = "none"
    limits: ResidentLimits = DEFAULT_LIMITS
    models: Mapping[str, Setting] = field(default_factory=dict[str, Setting])

    @property
    def folder(self) -> Path:
        """The folder of the file."""
        return Path(self.file).parent

    def name_in_folder(self, opened: str) -> str:
        """Return the name in the folder of a file that was opened, or of the module whose compiled code it is.

        "" for one outside of it, and for one of this program or of the environment, which may lie in it too.
        """
        path = Path(opened)
        if path.suffix == ".pyc":
            with contextlib.suppress(ValueError):  # of one that Python did not name
                path = Path(source_from_cache(opened))
        if not path.is_relative_to(self.folder) or any(map(path.is_relative_to, NOT_OF_MEMORIES)):
            return ""
        return path.relative_to(self.folder).as_posix()


@dataclass
class PendingCall:
    """A call that the process has not answered, and the context in which models are asked for it."""

    method: str
    result: "asyncio.Future[object]"
    begun: Callable[[], None]
    context: Context = field(default_factory=copy_context)


@dataclass(frozen=True)
class RemoteCall:
    """A call to make in the process: of a method of one of its memories, or of none for a new one."""

    process: "MemoryProcess"
    memory: "ForeignMemory | None"
    method: str
    arguments: Sequence[object] = ()
    named: Mapping[str, object] = field(default_factory=dict[str, object])


class ForeignMemory(RemoteValue):
    """A memory in another process: its methods give calls to make there."""

    def __init__(self, process: "MemoryProcess", described: Mapping[str, Any]) -> None:
        super().__init__(str(described["type"]))
        own: dict[str, object] = {
            "process": process,
            "number": int(described["number"]),
            "methods": frozenset(NAMES.validate_python(described["methods"])),
        }
        vars(self).update(own)
        if isinstance(described["policy"], str):
            vars(self)["policy"] = described["policy"]

    def __getattr__(self, name: str) -> Any:
        if name in vars(self).get("methods", ()):
            return lambda *arguments, **named: RemoteCall(self.process, self, name, arguments, named)  # pyright: ignore
        raise AttributeError(name)


class MemoryProcesses:
    """The place of one item's memories: a process for all of them, or one for each that is made."""

    def __init__(self, code: ForeignCode, tools: MemoryTools, *, opened: Callable[[str], None]) -> None:
        self._begin_one = partial(MemoryProcess, code, tools, opened=opened)
        self._apart = code.apart
        self._begun: list[MemoryProcess] = []

    @property
    def is_shared(self) -> bool:
        """True where memories share a process and a home."""
        return not self._apart

    @property
    def has_background(self) -> bool:
        """True where a process has told that something may go on there while no method is called."""
        return any(process.has_background for process in self._begun)

    def make_memory(self, tools: MemoryTools) -> object:
        """Return the call that makes a new memory."""
        if self._apart or not self._begun:
            self._begun.append(self._begin_one())
        return RemoteCall(self._begun[-1], None, MAKING)

    async def call(self, function: Callable[[], object], *, on_loop: bool, begun: Callable[[], None]) -> CallOutcome:
        """Return what the function gives or raises; of a call to make in a process, what comes of that."""
        try:
            result = function()
            if isinstance(result, RemoteCall):
                result = await result.process.call(result, begun)
        except Exception as error:  # noqa: BLE001 - it is of foreign code, which may raise anything
            return CallOutcome(error=error)
        return CallOutcome(result)

    def close(self) -> None:
        """End all processes with everything that they have started."""
        for process in self._begun:
            process.close()


class MemoryProcess:
    """A process of its own. It begins with the first call, and ends with `close`, whatever it does.

    `opened` is told the files of its folder that it opens, by their names there, in the context of the call.
    """

    def __init__(self, code: ForeignCode, tools: MemoryTools, *, opened: Callable[[str], None]) -> None:
        self._code = code
        self._tools = tools
        self._opened = opened
        self._program: LineProgram | None = None
        self._calls: dict[int, PendingCall] = {}
        self._memories: weakref.WeakValueDictionary[int, ForeignMemory] = weakref.WeakValueDictionary()
        self._asked: set[asyncio.Task[None]] = set()
        self._model_errors: dict[int, Exception] = {}
        self._next = 0
        self._ended = ""
        self.has_background = False

    async def call(self, asked: RemoteCall, begun: Callable[[], None]) -> object:
        """Return the result of a method of a memory there. Raises ErrorOfOthers, or what a model of ours raised for it."""
        if self._program is None:
            self._program = self._start()
        if self._ended:
            raise ErrorOfOthers(self._ended)
        self._next += 1
        call = self._next
        pending = PendingCall(asked.method, asyncio.get_running_loop().create_future(), begun)
        self._calls[call] = pending
        number = vars(asked.memory)["number"] if asked.memory is not None else 0
        arguments = list(map(_plain, asked.arguments))
        named = {name: _plain(value) for name, value in asked.named.items()}
        self._send({"call": call, "object": number, "method": asked.method, "arguments": arguments, "named": named})
        try:
            return await pending.result
        finally:
            self._calls.pop(call, None)

    def _start(self) -> LineProgram:
        code = self._code
        tools = {"model_name": self._tools.model_name, "embedding_model": self._tools.embedding_model, "seed": self._tools.seed}
        job = {**dataclasses.asdict(code), "tools": tools}
        job |= {"settings": dict(code.settings), "models": dict(code.models)}
        job["private_imports"] = private_imports.__file__
        listed = (*code.path, str(private_imports.ROOT))
        scratch = tempfile.mkdtemp(prefix="memory-")
        residence = Residence(code.kind, code.shown, listed, scratch, code.network, code.limits)
        return LineProgram(PROGRAM, residence, job, hear=self._take, hear_end=partial(self._end, ""))

    def _take(self, line: bytes) -> None:
        """Take a line of the process, which is foreign code and may have written anything."""
        try:
            message = cast(dict[str, Any], json.loads(line))
            if "begun" in message:
                pending = self._calls.get(message["begun"])
                if pending is not None:
                    pending.begun()
            elif "done" in message:
                self._finish(message)
            else:
                self._begin_asking(message)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._end("it wrote something else than an answer to whoever runs it")

    def _finish(self, message: Mapping[str, Any]) -> None:
        pending = self._calls.get(message["done"])
        if pending is None or pending.result.done():
            return
        for name in map(self._code.name_in_folder, NAMES.validate_python(message.get("opened", []))):
            if name:
                pending.context.run(self._opened, name)
        # What has ended meanwhile may have done its work after the call.
        self.has_background = self.has_background or message["background"] is not False
        if "error" in message:
            pending.result.set_exception(self._error(message["error"], method=pending.method))
        elif "object" in message:
            pending.result.set_result(self._memory(message["object"]))
        elif "strange" in message:
            pending.result.set_result(RemoteValue(str(message["strange"])))
        else:
            pending.result.set_result(message["value"])

    def _memory(self, described: Mapping[str, Any]) -> ForeignMemory:
        """Return the memory of this number: the same object for the same one there."""
        number = int(described["number"])
        memory = self._memories.get(number)
        if memory is None:
            memory = self._memories[number] = ForeignMemory(self, described)
            weakref.finalize(memory, self._drop, number).atexit = False
        return memory

    def _drop(self, number: int) -> None:
        """Let go of a memory that nobody holds any more; a process that has none left, and gets no other, ends by itself."""
        self._send({"drop": number})
        self._memories.pop(number, None)
        if self._code.apart and not self._memories and self._program is not None:
            self._program.ask_no_more()

    def _error(self, told: Mapping[str, Any], *, method: str) -> Exception:
        said = str(told["said"])
        hint = str(told["hint"]) if self._code.kind != "none" else ""
        if method == MAKING and self._memories:
            hint = SHARED
        if told["kind"] == "model":
            # What really happened here, and never what the process says of it.
            return self._model_errors.get(told["asked"]) or ErrorOfOthers("it made up an error of a model")
        if told["kind"] in ("MemoryFailed", "Unusable"):
            trace = str(told["trace"])
            return MemoryFailed(with_hint(f"{said}{place_in(trace)}", hint), trace=trace)
        if told["kind"] == "ItemFailed":
            return ItemFailed("unparsable", said)
        # What the sandbox refuses does not pass.
        passing = told["passing"] is True and not hint
        return ErrorOfOthers(said, trace=str(told["trace"]), passing=passing, hint=hint)

    def _begin_asking(self, message: Mapping[str, Any]) -> None:
        """Ask a model for the process, counted with the call that it is asked for."""
        pending = self._calls.get(message["call"])
        context = pending.context.copy() if pending else copy_context()
        task = asyncio.get_running_loop().create_task(self._ask(message), context=context)
        self._asked.add(task)
        task.add_done_callback(self._asked.discard)

    async def _ask(self, message: Mapping[str, Any]) -> None:
        number = int(message["ask"])
        try:
            if "request" in message:
                reply = await self._tools.model.complete(REQUEST.validate_python(message["request"]))
                answer: dict[str, Any] = {"reply": dataclasses.asdict(reply)}
            else:
                texts = NAMES.validate_python(message["texts"])
                answer = {"vectors": await self._tools.embedder.embed(texts, model=str(message["model"]))}
        except (EndpointError, ItemFailed, MemoryFailed, ValidationError) as error:
            self._model_errors[number] = error
            answer = {"error": {"kind": type(error).__name__, "said": str(error), "reason": getattr(error, "reason", "")}}
        self._send({"answer": number, **answer})

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._program is not None and not self._ended:
            self._program.ask(message)

    def _end(self, reason: str) -> None:
        """End the process, and all calls that wait for it; `reason`: "" where it has ended by itself."""
        if self._ended or self._program is None:
            return
        how = self._program.end(by_itself=not reason)
        self._ended = f"RuntimeError: its process ended: {reason or how}"
        for pending in self._calls.values():
            if not pending.result.done():
                pending.result.set_exception(ErrorOfOthers(self._ended))
        for task in self._asked:
            task.cancel()

    def close(self) -> None:
        """End it with everything that it has started."""
        self._end("nobody asks it any more")


def _plain(value: object) -> object:
    """Return an argument as a line holds it."""
    if isinstance(value, MemoryEvent):
        at = value.at.isoformat() if value.at else ""
        return {"event": [value.text, value.kind, at, value.source]}
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in cast(Sequence[object], value)]
    return value
