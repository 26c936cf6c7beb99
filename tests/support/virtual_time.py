"""An event loop whose clock jumps: a minute of waiting takes no time, and takes the same time on every machine."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _JumpingSelector(selectors.DefaultSelector):
    """Where nothing has happened, time passes at once."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        events = super().select(0 if timeout is None or timeout > 0 else timeout)
        if not events and timeout is None:
            return super().select(None)  # nothing is due, so that something from outside has to come
        if not events and timeout is not None:
            self.now += max(0.0, timeout)
        return events


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A loop for work in this process alone, without sockets. What is for a thread is done at once, or time would run ahead."""

    def __init__(self) -> None:
        self._jumping = _JumpingSelector()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> "asyncio.Future[T]":  # pyright: ignore[reportIncompatibleMethodOverride]
        """The openai client looks up the platform in a thread, at each first call."""
        done: asyncio.Future[T] = self.create_future()
        done.set_result(func(*args))
        return done


def run_in_virtual_time(work: Coroutine[Any, Any, T]) -> tuple[T, float]:
    """Run this, and return what it gives together with the virtual seconds that it took."""
    with asyncio.Runner(loop_factory=VirtualTimeLoop) as runner:
        loop = runner.get_loop()
        result = runner.run(work)
        return result, loop.time()


def virtual_clock() -> float:
    """The running loop's time; a clock for what is measured in it."""
    return asyncio.get_running_loop().time()
