"""Awaiting several calls, calls that go on when whoever waits for them is cancelled, and what a signal does to both."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

from assets.llm.ports import EndpointError
from assets.stop_signals import INTERRUPTED, STOP_SIGNALS

T = TypeVar("T")
SHIELDED = "shielded call"
# A stopped run ends within five seconds, of which Dagster takes up to two.
SHIELDED_SECONDS = 2.5
PAID_CALLS_SECONDS = 20.0  # of a command that runs without Dagster


async def gather_all(*awaited: Awaitable[T]) -> list[T]:
    """Wait for all, then return all results or raise the first error in the order given, an EndpointError before others.

    The order, not the clock, decides which error is raised, so that the record of a failed item is the same in every run.
    """
    done: list[T] = []
    problems: list[BaseException] = []
    for result in await asyncio.gather(*awaited, return_exceptions=True):
        if isinstance(result, BaseException):
            problems.append(result)
        else:
            done.append(result)
    # An endpoint that serves nobody explains the other errors.
    for problem in sorted(problems, key=lambda problem: not isinstance(problem, EndpointError)):
        raise problem
    return done


async def shield_call(call: Coroutine[Any, Any, T]) -> T:
    """Await a call that is paid for once it is sent: it goes on when whoever waits for it is cancelled."""
    task = asyncio.create_task(call, name=SHIELDED)
    # Retrieves an error that nobody waits for any more, about which asyncio would warn.
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
    return await asyncio.shield(task)


async def wait_for_shielded_calls(*, seconds: float = SHIELDED_SECONDS) -> None:
    """Wait for the shielded calls under way, at most so many seconds."""
    calls = [task for task in asyncio.all_tasks() if task.get_name() == SHIELDED]
    if calls:
        await asyncio.wait(calls, timeout=seconds)


def run_to_end(work: Coroutine[Any, Any, T]) -> T:
    """Run what a command awaits, and return its result. Raises KeyboardInterrupt when a signal stopped it.

    The first signal cancels the work, and shielded calls get a moment to come back; the second ends the process at once,
    whatever still runs.
    """

    async def main() -> T:
        loop = asyncio.get_running_loop()
        task = asyncio.ensure_future(work)
        before = {number: signal.getsignal(number) for number in STOP_SIGNALS}
        # One that is ignored stays so, as in the background of a shell.
        heard = [number for number, handler in before.items() if handler != signal.SIG_IGN]

        def stop() -> None:
            for number in heard:
                loop.add_signal_handler(number, os._exit, INTERRUPTED)
            task.cancel()

        for number in heard:
            loop.add_signal_handler(number, stop)
        try:
            return await task
        finally:
            await wait_for_shielded_calls(seconds=PAID_CALLS_SECONDS)
            for number in heard:
                loop.remove_signal_handler(number)
                signal.signal(number, before[number])

    try:
        return asyncio.run(main())
    except asyncio.CancelledError as stopped:
        raise KeyboardInterrupt from stopped
