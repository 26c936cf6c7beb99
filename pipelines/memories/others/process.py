"""A process for a memory of others, as this process sees it: it is asked by lines of JSON, and its models are asked here."""

import asyncio
import contextlib
import dataclasses
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextvars import Context, copy_context
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from assets.isolation.boundary import Kind, Residence, start_resident
from assets.llm.ports import EndpointError, ModelRequest
from assets.records.base import ItemFailed
from assets.records.limits import MB
from assets.records.readable import without_controls
from pipelines.memories.code_thread import CallOutcome
from pipelines.memories.contract import MemoryEvent, MemoryTools, Setting
from pipelines.memories.hosting import ErrorOfOthers, MemoryFailed, RemoteValue

PROGRAM = Path(__file__).with_name("worker.py")
MOST_BYTES = 64 * MB  # of one line
MOST_PRINTED = 64_000  # bytes of a line that is printed, longer ones in pieces
REQUEST = TypeAdapter(ModelRequest)
NAMES = TypeAdapter(list[str])
MAKING = "__init__"


@dataclass(frozen=True)
class ForeignCode:
    """The class of a memory, as its process finds it: in a file, or in a module on the path. `shown_as`: its name in errors."""

    attribute: str
    shown_as: str
    settings: Mapping[str, Setting]
    file: str = ""
    module: str = ""
    path: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    network: bool = False
    kind: Kind = "none"


@dataclass
class PendingCall:
    """A call that the process has not answered, and the context in which models are asked for it."""

    result: "asyncio.Future[object]"
    begun: Callable[[], None]
    context: Context = field(default_factory=copy_context)


@dataclass(frozen=True)
class RemoteCall:
    """A call to make in the process: of a method of one of its memories, or of none for a new one."""

    memory: "ForeignMemory | None"
    method: str
    arguments: Sequence[object] = ()
    named: Mapping[str, object] = field(default_factory=dict[str, object])


class ForeignMemory(RemoteValue):
    """A memory in another process: its methods give calls to make there."""

    def __init__(self, described: Mapping[str, Any]) -> None:
        super().__init__(str(described["type"]))
        own = {"number": int(described["number"]), "methods": frozenset(NAMES.validate_python(described["methods"]))}
        vars(self).update(own)
        if isinstance(described["policy"], str):
            vars(self)["policy"] = described["policy"]

    def __getattr__(self, name: str) -> Any:
        if name in vars(self).get("methods", ()):
            return lambda *arguments, **named: RemoteCall(self, name, arguments, named)  # pyright: ignore
        raise AttributeError(name)


class MemoryProcess:
    """A process of its own for one item's memories. It begins with the first call, and ends with `close`, whatever it does.

    Its lines are read and written by threads, so that nothing here waits for what it does there.
    """

    def __init__(self, code: ForeignCode, tools: MemoryTools) -> None:
        self._code = code
        self._tools = tools
        self._process: subprocess.Popen[bytes] | None = None
        self._scratch = ""
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._calls: dict[int, PendingCall] = {}
        self._memories: weakref.WeakValueDictionary[int, ForeignMemory] = weakref.WeakValueDictionary()
        self._asked: set[asyncio.Task[None]] = set()
        self._model_errors: dict[int, Exception] = {}
        self._next = 0
        self._ended = ""

    def made(self, tools: MemoryTools) -> object:
        """Return the call that makes a new memory."""
        return RemoteCall(None, MAKING)

    async def call(self, function: Callable[[], object], *, on_loop: bool, begun: Callable[[], None]) -> CallOutcome:
        """Return what the function gives or raises; of a call to make there, what comes of that."""
        try:
            result = function()
            if isinstance(result, RemoteCall):
                result = await self._call_there(result, begun)
        except Exception as error:  # noqa: BLE001 - it is of foreign code, which may raise anything
            return CallOutcome(error=error)
        return CallOutcome(result)

    async def _call_there(self, asked: RemoteCall, begun: Callable[[], None]) -> object:
        """Return the result of a method of a memory there. Raises ErrorOfOthers, or what a model of ours raised for it."""
        if self._process is None:
            self._start()
        if self._ended:
            raise ErrorOfOthers(self._ended)
        self._next += 1
        call = self._next
        pending = PendingCall(asyncio.get_running_loop().create_future(), begun)
        self._calls[call] = pending
        number = vars(asked.memory)["number"] if asked.memory is not None else 0
        arguments = list(map(_plain, asked.arguments))
        named = {name: _plain(value) for name, value in asked.named.items()}
        self._send({"call": call, "object": number, "method": asked.method, "arguments": arguments, "named": named})
        try:
            return await pending.result
        finally:
            self._calls.pop(call, None)

    def _start(self) -> None:
        code = self._code
        self._scratch = tempfile.mkdtemp(prefix="memory-")
        tools = {"model_name": self._tools.model_name, "embedding_model": self._tools.embedding_model, "seed": self._tools.seed}
        job = {**dataclasses.asdict(code), "tools": tools}
        job["settings"] = dict(code.settings)
        residence = Residence(code.kind, code.shown, code.path, self._scratch, code.network)
        self._process = start_resident(PROGRAM, job=job, residence=residence)
        loop = asyncio.get_running_loop()
        threading.Thread(target=_write_lines, args=(self._process, self._lines), name="memory-asked", daemon=True).start()
        threading.Thread(target=self._read_lines, args=(self._process, loop), name="memory-answers", daemon=True).start()
        threading.Thread(target=_show_prints, args=(self._process,), name="memory-prints", daemon=True).start()

    def _read_lines(self, process: "subprocess.Popen[bytes]", loop: asyncio.AbstractEventLoop) -> None:
        assert process.stdout is not None
        with process.stdout as answers, contextlib.suppress(RuntimeError):  # of a loop that is closed
            for line in iter(partial(answers.readline, MOST_BYTES), b""):
                loop.call_soon_threadsafe(self._take, line)
            loop.call_soon_threadsafe(self._end, "")

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
        if "error" in message:
            pending.result.set_exception(self._error(message["error"]))
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
            memory = self._memories[number] = ForeignMemory(described)
            weakref.finalize(memory, self._send, {"drop": number}).atexit = False
        return memory

    def _error(self, told: Mapping[str, Any]) -> Exception:
        said = str(told["said"])
        if told["kind"] == "model":
            # What really happened here, and never what the process says of it.
            return self._model_errors.get(told["asked"]) or ErrorOfOthers("it made up an error of a model")
        if told["kind"] in ("MemoryFailed", "Unusable"):
            return MemoryFailed(said, trace=str(told["trace"]))
        if told["kind"] == "ItemFailed":
            return ItemFailed("unparsable", said)
        return ErrorOfOthers(said, trace=str(told["trace"]))

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
        except (EndpointError, ItemFailed, ValidationError) as error:
            self._model_errors[number] = error
            answer = {"error": {"kind": type(error).__name__, "said": str(error), "reason": getattr(error, "reason", "")}}
        self._send({"answer": number, **answer})

    def _send(self, message: Mapping[str, Any]) -> None:
        if not self._ended:
            self._lines.put(json.dumps(message).encode() + b"\n")

    def _end(self, reason: str) -> None:
        """End the process, and all calls that wait for it; `reason`: "" where it has ended by itself."""
        if self._ended or self._process is None:
            return
        code = _killed(self._process)
        self._lines.put(None)
        self._ended = f"RuntimeError: its process ended: {reason or _how(code)}"
        for pending in self._calls.values():
            if not pending.result.done():
                pending.result.set_exception(ErrorOfOthers(self._ended))
        for task in self._asked:
            task.cancel()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def close(self) -> None:
        """End the process with everything that it has started."""
        self._end("nobody asks it any more")


def _write_lines(process: "subprocess.Popen[bytes]", lines: "queue.SimpleQueue[bytes | None]") -> None:
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError, ValueError), process.stdin as requests:
        for line in iter(lines.get, None):
            requests.write(line)
            requests.flush()


def _show_prints(process: "subprocess.Popen[bytes]") -> None:
    """Print what the process prints, without what would steer the terminal."""
    assert process.stderr is not None
    with contextlib.suppress(ValueError), process.stderr as prints:  # of a standard error that is closed
        for line in iter(partial(prints.readline, MOST_PRINTED), b""):
            print(without_controls(line.decode(errors="replace")), end="", file=sys.stderr, flush=True)


def _killed(process: "subprocess.Popen[bytes]") -> int:
    """Kill the process with its group, and return its exit code: that of before where it had ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        # One that ended by itself is told from one that we end.
        return process.wait(timeout=0 if process.poll() is None else None)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait()


def _how(code: int) -> str:
    if code < 0:
        return f"by signal {-code}, as of a fault of a library or of memory that ran out"
    return f"with status {code}"


def _plain(value: object) -> object:
    """Return an argument as a line holds it."""
    if isinstance(value, MemoryEvent):
        at = value.at.isoformat() if value.at else ""
        return {"event": [value.text, value.kind, at, value.source]}
    if isinstance(value, datetime):
        return {"time": value.isoformat()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in cast(Sequence[object], value)]
    return value
