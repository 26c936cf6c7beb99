"""Calls that are paid for once they are sent, and what becomes of them when whoever waits for them is stopped."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")
LANDING = "call that is paid for"


async def landing(call: Coroutine[Any, Any, T]) -> T:
    """Await a call that is paid for once it is sent: it goes on when whoever waits for it is cancelled."""
    task = asyncio.create_task(call, name=LANDING)
    # An error that nobody waits for any more is no news.
    task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
    return await asyncio.shield(task)


async def landed(*, within: float) -> None:
    """Wait for the calls in the air, at most so many seconds."""
    calls = [task for task in asyncio.all_tasks() if task.get_name() == LANDING]
    if calls:
        await asyncio.wait(calls, timeout=within)
