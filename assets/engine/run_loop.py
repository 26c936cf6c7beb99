"""The event loop of a run, in a thread of its own.

Dagster runs its event loop only while an asset is made. What works ahead would stand still in between, on a busy machine for up
to a second at each asset: replies that have come would lie unread, and a kill would lose all of them.
"""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Self, TypeVar

from assets.llm.async_calls import SHIELDED_SECONDS, wait_for_shielded_calls

T = TypeVar("T")


class RunLoop:
    """Runs coroutines for other event loops, and the tasks that they start, until its context ends. No signal reaches it.

    `at_end` cancels the tasks that nobody waits for any more; shielded calls get so many `seconds` to come back.
    """

    def __init__(self, *, at_end: Callable[[], None], seconds: float = SHIELDED_SECONDS) -> None:
        self._at_end = at_end
        self._seconds = seconds
        self._waited = False
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="run-loop", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """End the loop and its tasks; calls that are paid for get a moment to come back."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run `work` on the run loop. When the caller is cancelled, cancel the work too and wait until it has ended.

        Shielded calls get a moment to come back; a second cancellation waits for none.
        """
        started: Future[asyncio.Task[T]] = Future()

        async def in_loop() -> T:
            task = asyncio.current_task()
            assert task is not None
            started.set_result(task)
            return await work

        result = asyncio.wrap_future(asyncio.run_coroutine_threadsafe(in_loop(), self._loop))
        # asyncio warns of an error that nobody looks at.
        result.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        try:
            return await asyncio.shield(result)
        except asyncio.CancelledError:
            self._loop.call_soon_threadsafe(started.result().cancel)
            self._waited = True
            await asyncio.wait([result])
            waiting = wait_for_shielded_calls(seconds=self._seconds)
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(waiting, self._loop))
            raise

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()
            self._at_end()
            if not self._waited:
                runner.run(wait_for_shielded_calls(seconds=self._seconds))
