"""Stop a stage when its run is cancelled.

Dagster turns the signal that cancels a run into an exception at whatever line is running. On an event loop, that line belongs
to one of hundreds of tasks, or to a callback, which may keep the exception for itself, and the run would go on. Here the signal
cancels the stage as a whole, and the cancellation reaches everything that the stage waits for. Only calls that are paid for get
a moment to come back and be stored.
"""

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import dagster as dg

from assets.llm.async_calls import SHIELDED_SECONDS, wait_for_shielded_calls
from assets.stop_signals import STOP_SIGNALS

STOPPED = "The run was stopped. What was finished is kept, and the same run goes on from there."


@asynccontextmanager
async def stop_with_run(*, seconds: float = SHIELDED_SECONDS) -> AsyncGenerator[None, None]:
    """Turn a signal that arrives within this context into DagsterExecutionInterruptedError.

    Shielded calls get so many seconds to come back; a second signal stops those too. Outside the main thread, where Python
    delivers no signals, it does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()
    task = asyncio.current_task()
    assert task is not None
    arrived: list[int] = []

    def stop(number: int, _frame: object) -> None:
        arrived.append(number)
        # Wakes the loop, too, when it waits for replies.
        loop.call_soon_threadsafe(task.cancel)

    before = {number: signal.signal(number, stop) for number in STOP_SIGNALS}
    try:
        try:
            yield
        except asyncio.CancelledError:
            if not arrived:
                raise
            await wait_for_shielded_calls(seconds=seconds)
        except BaseExceptionGroup as group:
            # A signal just before this began is raised by Dagster, in a task that works ahead; who waits for that task gets it.
            if group.subgroup(dg.DagsterExecutionInterruptedError) is None:
                raise
            arrived.append(signal.SIGINT)
            await wait_for_shielded_calls(seconds=seconds)
    except asyncio.CancelledError:
        if not arrived:
            raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if arrived:
        raise dg.DagsterExecutionInterruptedError(STOPPED) from None
