"""A thread for code of others, and what comes of its calls. It imports next to nothing: processes of memories begin with it."""

import asyncio
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from importlib.util import module_from_spec, spec_from_file_location
from inspect import Parameter, isawaitable, iscoroutinefunction, signature
from pathlib import Path
from types import ModuleType
from typing import cast

NEEDED = ("write", "recall")  # of a memory
NEEDED_OF_AGENTS = ("respond", "observe", "answer", "fork")
OPTIONAL = ("fork", "forget", "settle", "stored_bytes", "close")
# What a setting has to be, by the type that a memory's class names or that its default has.
TOOLS = "tools"  # the parameter that the runner fills
NUMBERS = {"int": "a whole number", "float": "a number"}


@dataclass(frozen=True)
class CallOutcome:
    """What a call of others' code gave or raised, as a value: no error of theirs may reach the loops that carry it."""

    result: object = None
    error: BaseException | None = None

    @property
    def failure(self) -> Exception | None:
        """The error, as an ordinary one where it would end a task or the process."""
        if self.error is None or isinstance(self.error, Exception):
            return self.error
        kind = type(self.error).__name__
        if isinstance(self.error, asyncio.CancelledError):
            return RuntimeError(f"it cancelled its own call ({kind})")
        return RuntimeError(f"it tried to end the process ({kind}: {self.error})")


class CodeThread:
    """A thread with an event loop for code of others. It ends with the process at the latest, whatever that code does."""

    has_background = True  # of a service, and of code beside all that runs in our process, nobody knows

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        # Plain calls, in order.
        self._due = deque[Callable[[], None]]()
        self._closed = False
        threading.Thread(target=self._run, name="memory", daemon=True).start()

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:  # which cancels what is left there
            loop = runner.get_loop()
            while not self._closed:
                loop.run_forever()
                # The loop stands still meanwhile, so that a plain function may run one of its own.
                while self._due:
                    self._due.popleft()()

    @property
    def has_tasks(self) -> bool:
        """True where the code left tasks on the loop that are not done."""
        return bool(asyncio.all_tasks(self._loop))

    async def call(
        self, function: Callable[[], object], *, on_loop: bool = True, begun: Callable[[], None] = lambda: None
    ) -> CallOutcome:
        """Return what a plain or async function gave or raised.

        `on_loop`: the thread's loop runs meanwhile, which async functions need; else none does, and `asyncio.run` is free.
        `begun` is called in the thread when it is the function's turn.
        """
        if on_loop:
            work = asyncio.run_coroutine_threadsafe(self._on_loop(function, begun), self._loop)
        else:
            work = Future[CallOutcome]()
            self._due.append(partial(self._off_loop, work, function, begun))
            self._loop.call_soon_threadsafe(self._loop.stop)
        return await asyncio.wrap_future(work)

    async def _on_loop(self, function: Callable[[], object], begun: Callable[[], None]) -> CallOutcome:
        begun()
        # A task of its own: it may cancel the task that it finds itself in.
        inner = asyncio.ensure_future(_await_call(function))
        try:
            await asyncio.wait([inner])
        finally:
            inner.cancel()
        return CallOutcome(error=asyncio.CancelledError()) if inner.cancelled() else inner.result()

    def _off_loop(self, work: "Future[CallOutcome]", function: Callable[[], object], begun: Callable[[], None]) -> None:
        # It may have been cancelled while it waited.
        if work.set_running_or_notify_cancel():
            begun()
            work.set_result(_call_function(function))

    def close(self) -> None:
        """Let the thread end as soon as its code lets go."""
        self._closed = True
        self._loop.call_soon_threadsafe(self._loop.stop)


async def _await_call(function: Callable[[], object]) -> CallOutcome:
    try:
        result = function()
        return CallOutcome(await result if isawaitable(result) else result)
    except BaseException as error:  # noqa: BLE001 - anything may come out of foreign code
        return CallOutcome(error=error)


def _call_function(function: Callable[[], object]) -> CallOutcome:
    try:
        return CallOutcome(function())
    except BaseException as error:  # noqa: BLE001 - anything may come out of foreign code
        return CallOutcome(error=error)


def module_of_file(path: Path) -> ModuleType:
    """Return the module that a file is. Raises whatever its code raises."""
    spec = spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules.setdefault(path.stem, module)
    spec.loader.exec_module(module)
    return module


def is_asynchronous(kind: object) -> bool:
    """Return True where a method of the contract is a coroutine function."""
    return any(iscoroutinefunction(getattr(kind, name, None)) for name in (*NEEDED, *NEEDED_OF_AGENTS, *OPTIONAL))


def settings_problem(factory: Callable[..., object], settings: Mapping[str, object]) -> str:
    """Say which setting the class cannot take: one that it has not, or text for a number. "" where it takes them all."""
    name = getattr(factory, "__name__", "memory")
    parameters = signature(factory).parameters
    takes_all = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters.values())
    for setting, value in settings.items():
        parameter = parameters.get(setting)
        # The runner gives it, so that a setting of this name would be given twice.
        if parameter is None or setting == TOOLS:
            if takes_all and setting != TOOLS:
                continue
            known = ", ".join([own for own in parameters if own != TOOLS]) or "none"
            return f"{name} has no setting {setting!r}; its settings are: {known}."
        # An annotation may be text, and a default of null says nothing.
        kind: object = parameter.annotation
        if kind is Parameter.empty:
            kind = cast(object, type(parameter.default))
        needed = NUMBERS.get(kind if isinstance(kind, str) else getattr(kind, "__name__", ""))
        if needed and isinstance(value, str):
            return f"The setting {setting!r} of {name} is {value!r}, and has to be {needed}."
    return ""
