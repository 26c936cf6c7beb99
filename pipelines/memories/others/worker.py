"""The program that runs a memory of others, in a process of its own: it is asked by lines of JSON, and answers by lines.

It is foreign code as soon as the memory's class is imported, so that whoever reads its lines believes none of them. Until then
it imports next to nothing but the standard library, which takes a tenth of a second. Calls of the memory's methods are made in
one thread, whose loop they may use; what they print goes to standard error.
"""

import asyncio
import contextlib
import importlib.util
import inspect
import json
import os
import sys
import threading
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:  # the boundary's module is a script, and models take longer to import than a memory that asks none
    from assets.isolation.confine import Boundary
    from assets.llm.ports import ModelReply, ModelRequest, Vector
    from pipelines.memories.others.code_thread import CallOutcome

MAKING = "__init__"
# Their results are memories, and stay here; those of other methods are values.
GIVE_MEMORIES = (MAKING, "fork", "with_policy")
OWN_THREADS = 3  # that runs the loop, that reads, and that makes the calls
PLAIN = (type(None), str, int, float, bool)
# Errors that say something to whoever runs the memory, by module and name.
TOLD_BY_NAME = {("amemgym.assets.records.base", "ItemFailed"), ("amemgym.pipelines.memories.failures", "MemoryFailed")}
# The number of the call that the running task works for: models that it asks are counted with that call.
CALL: ContextVar[int] = ContextVar("CALL", default=0)


def main(boundary: "Boundary") -> None:
    """Serve until nobody asks any more."""
    sys.path[:] = boundary.job["path"]
    _keep_our_names_private(boundary.job["private_imports"])
    worker = MemoryWorker(boundary.job, boundary.answers())
    threading.Thread(target=worker.read, args=(boundary.requests,), daemon=True).start()
    worker.loop.run_forever()


def _keep_our_names_private(program: str) -> None:
    """Let the imports in this program find our modules, which have no plain names here: those are free for the memory's own."""
    spec = importlib.util.spec_from_file_location("private_imports", program)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    # A copy that is this program's alone (`confine.py`).
    cast(dict[str, Any], globals()["__builtins__"])["__import__"] = module.import_ours_privately().import_name


class OpenedFiles:
    """The files below a folder that this process opens, by whatever code in Python: an audit hook cannot be taken out again."""

    def __init__(self, folder: str) -> None:
        self._folder = os.path.join(folder, "")  # noqa: PTH118 - of texts: the hook is called for every file
        self._known: set[str] = set()
        self._new: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event not in ("open", "sqlite3.connect"):
            return
        path = os.fsdecode(arguments[0]) if isinstance(arguments[0], bytes) else arguments[0]
        if isinstance(path, str) and path.startswith(self._folder) and path not in self._known:
            self._known.add(path)
            self._new.append(path)

    def take(self) -> list[str]:
        """Return those that were opened since, and that are there."""
        opened, self._new = self._new, []
        return list(filter(os.path.isfile, opened))


class Unusable(Exception):
    """The memory's class cannot be had; one sentence says why."""


class MemoryWorker:
    """Makes memories of one class and calls them, by numbers that are never given twice."""

    def __init__(self, job: dict[str, Any], answers: Any) -> None:
        # Late: the folders in which modules are found are part of the job.
        from pipelines.memories.others.code_thread import CodeThread

        self.job = job
        self.loop = asyncio.new_event_loop()
        self._thread = CodeThread()
        self._asynchronous = False
        self._answers = answers
        self._writing = threading.Lock()
        self._objects: dict[int, object] = {}
        self._next = 0
        self._asked: dict[int, asyncio.Future[Any]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._factory: Any = None
        self._opened = OpenedFiles(str(Path(job["file"]).parent)) if job["file"] else None

    def read(self, requests: Any) -> None:
        """Hand each line over to the loop; the end of them is the end of the process, whatever runs in it."""
        for line in requests:
            self.loop.call_soon_threadsafe(self._take, json.loads(line))
        os._exit(0)

    def _take(self, message: dict[str, Any]) -> None:
        if "answer" in message:
            asked = self._asked.pop(message["answer"])
            if not asked.done():
                asked.set_result(message)
        elif "drop" in message:
            self._objects.pop(message["drop"], None)
        else:
            task = self.loop.create_task(self._work(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work(self, message: dict[str, Any]) -> None:
        """Make a call in the memories' thread, and tell what came of it."""
        call = message["call"]
        begun = partial(self.tell, {"begun": call})
        outcome = await self._outcome(partial(self._call_method, message), on_loop=self._asynchronous, begun=begun)
        if inspect.isawaitable(outcome.result):
            outcome = await self._outcome(partial(_itself, outcome.result), on_loop=True)
        error = outcome.failure
        answer = outcome.result
        if error is not None:
            answer = {"error": _error_line(error, cause=outcome.error or error, network=self.job["network"])}
        opened = {"opened": self._opened.take()} if self._opened else {}
        self.tell({"done": call, "background": self._has_background(), **opened, **cast(dict[str, Any], answer)})

    def _has_background(self) -> bool:
        """Return True where something may go on while no method is called: here, or in what the memory can reach."""
        if self.job["network"] or self.job["kind"] == "none":
            return True
        if threading.active_count() > OWN_THREADS or self._thread.has_tasks:
            return True
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return False
        return True

    async def _outcome(
        self, function: Callable[[], object], *, on_loop: bool, begun: Callable[[], None] = lambda: None
    ) -> "CallOutcome":
        from pipelines.memories.others.code_thread import CallOutcome

        try:
            return await self._thread.call(function, on_loop=on_loop, begun=begun)
        except asyncio.CancelledError as error:
            # It has cancelled all that runs on its loop; nobody cancels anything on this one.
            return CallOutcome(error=error)

    def _call_method(self, message: dict[str, Any]) -> object:
        CALL.set(message["call"])
        method = message["method"]
        if method == MAKING:
            result = self._make_memory()
        else:
            arguments = [_value(item) for item in message["arguments"]]
            named = {name: _value(value) for name, value in message["named"].items()}
            result = getattr(self._objects[message["object"]], method)(*arguments, **named)
        # Described in the same turn: calls that wait would come before another one, and its deadline runs.
        return (
            self._await_result(result, message) if inspect.isawaitable(result) else self._describe_result(result, method=method)
        )

    async def _await_result(self, result: Awaitable[object], message: dict[str, Any]) -> object:
        CALL.set(message["call"])
        return self._describe_result(await result, method=message["method"])

    def _make_memory(self) -> object:
        from pipelines.memories.others.code_thread import is_asynchronous, settings_problem

        if self._factory is None:
            self._factory = _factory(self.job)
            self._asynchronous = is_asynchronous(self._factory)
        problem = settings_problem(self._factory, self.job["settings"])
        if problem:
            raise Unusable(problem)
        parameters = inspect.signature(self._factory).parameters
        settings = dict(self.job["settings"])
        settings |= {name: model for name, model in self.job["models"].items() if name in parameters}
        if "tools" in parameters:
            settings["tools"] = self._tools()
        made = self._factory(**settings)
        self._asynchronous = self._asynchronous or is_asynchronous(cast(object, type(made)))
        return made

    def _tools(self) -> object:
        # Late: it takes a third of a second, and most memories ask no model.
        from pipelines.memories.tools import MemoryTools

        models = ModelsOfRun(self)
        return MemoryTools(model=models, embedder=models, **self.job["tools"])

    def _describe_result(self, result: object, *, method: str) -> dict[str, Any]:
        """Return a result as a line holds it: a value, or the number of a memory that stays here."""
        if method not in GIVE_MEMORIES or isinstance(result, PLAIN):
            try:
                # Of a text's letters, whatever its class makes of them.
                return {"value": json.loads(json.dumps(result))}
            except (TypeError, ValueError, RecursionError):
                return {"strange": type(result).__name__}
        number = self._number_of(result)
        policy = getattr(result, "policy", None)
        described = {"number": number, "type": type(result).__name__, "methods": _methods(result)}
        return {"object": {**described, "policy": policy if isinstance(policy, str) else None}}

    def _number_of(self, memory: object) -> int:
        for number, known in self._objects.items():
            if known is memory:
                return number
        self._next += 1
        self._objects[self._next] = memory
        return self._next

    async def ask(self, content: dict[str, Any]) -> dict[str, Any]:
        """Ask a model of the run, from any loop. Raises the error that the run has with it."""
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._ask(content, call=CALL.get()), self.loop))

    async def _ask(self, content: dict[str, Any], *, call: int) -> dict[str, Any]:
        self._next += 1
        number = self._next
        self._asked[number] = self.loop.create_future()
        answer = self._asked[number]
        self.tell({"ask": number, "call": call, **content})
        message = await answer
        if "error" in message:
            raise _model_error(message["error"], number=number)
        return message

    def tell(self, message: dict[str, Any]) -> None:
        """Write a line to whoever asks."""
        line = json.dumps(message).encode() + b"\n"
        with self._writing:
            self._answers.write(line)
            self._answers.flush()


class ModelsOfRun:
    """The models of the run, which count and pay there. A copy of a memory shares them."""

    def __init__(self, worker: MemoryWorker) -> None:
        self._worker = worker

    def __deepcopy__(self, memo: object) -> "ModelsOfRun":
        return self

    async def complete(self, request: "ModelRequest") -> "ModelReply":
        """Complete a chat."""
        import dataclasses

        from assets.llm.ports import ModelReply

        answer = await self._worker.ask({"request": dataclasses.asdict(request)})
        return ModelReply(**answer["reply"])

    async def embed(self, texts: Sequence[str], *, model: str) -> "list[Vector]":
        """Return a vector for each text."""
        answer = await self._worker.ask({"texts": list(texts), "model": model})
        return list(map(tuple, answer["vectors"]))


def _factory(job: dict[str, Any]) -> Any:
    """Return the class of the memory. Raises Unusable."""
    from pipelines.memories.others.code_thread import module_of_file

    name = job["attribute"]
    try:
        if job["file"]:
            path = Path(job["file"])
            sys.path.insert(0, str(path.parent))
            module = module_of_file(path)
        else:
            module = importlib.import_module(job["module"])
        found: Any = module
        for part in name.split("."):
            found = getattr(found, part)
    except BaseException as error:  # anything may come out of foreign code
        raise Unusable(f"{job['shown_as']} has no usable class {name!r}: {type(error).__name__}: {error}") from error
    if not callable(found):
        raise Unusable(f"{job['shown_as']} has no usable class {name!r}: it is a value of type {type(found).__name__}.")
    return found


def _value(given: Any) -> Any:
    """Return an argument as it was before it was a line: events and times are written as objects with one key."""
    if isinstance(given, list):
        return [_value(item) for item in cast(list[Any], given)]
    if not isinstance(given, dict):
        return given
    from datetime import datetime

    from pipelines.memories.events import MemoryEvent

    if "time" in given:
        return datetime.fromisoformat(cast(str, given["time"]))
    text, kind, at, source = cast(Sequence[Any], given["event"])
    return MemoryEvent(text, kind, datetime.fromisoformat(at) if at else None, source)


def _methods(memory: object) -> list[str]:
    """Return the names of the methods that anybody may call."""
    found: list[str] = []
    for name in dir(memory):
        if name.startswith("_"):
            continue
        # A property may do anything.
        with contextlib.suppress(Exception):
            if callable(getattr(memory, name)):
                found.append(name)
    return found


def _model_error(error: dict[str, str], *, number: int) -> Exception:
    from assets.llm import ports
    from assets.records.base import ItemFailed

    if error["kind"] == "ItemFailed":
        raised: Exception = ItemFailed(cast(Any, error["reason"]), error["said"])
    else:
        raised = getattr(ports, error["kind"], ports.EndpointError)(error["said"])
    vars(raised)["asked"] = number
    return raised


def _itself(value: object) -> object:
    return value


def _error_line(error: Exception, *, cause: BaseException, network: bool) -> dict[str, Any]:
    """Return an error as a line holds it, with the trace of its cause. One of a model is known by the question's number."""
    from pipelines.memories.failures import may_pass, sandbox_hint

    told: dict[str, Any] = {"kind": "", "said": "", "trace": "", "passing": False, "hint": ""}
    kind = type(error)
    asked = getattr(error, "asked", None)
    if isinstance(asked, int):
        return {**told, "kind": "model", "asked": asked}
    if isinstance(error, Unusable) or (kind.__module__, kind.__qualname__) in TOLD_BY_NAME:
        told["kind"] = kind.__name__
        told["said"] = str(error)
        told["reason"] = str(getattr(error, "reason", ""))
    else:
        # As the trace says it: an error of others may fail once more while it tells its own words.
        told["said"] = traceback.format_exception_only(error)[-1]
        told["passing"] = may_pass(error)
    told["hint"] = sandbox_hint(cause, network=network)
    told["trace"] = "".join(traceback.format_exception(cause))
    return told
