"""Awaiting several calls, and calls that go on when whoever waits for them is cancelled."""

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

from assets.llm.ports import EndpointError

T = TypeVar("T")
SHIELDED = "shielded call"
# A stopped run ends within five seconds, of which Dagster takes up to two.
SHIELDED_SECONDS = 2.5


async def gather_all(*awaited: Awaitable[T]) -> list[T]:
    """Wait for all, then return all results or raise the first error in the order given, an EndpointError before others.

    The order, not the clock, decides which error is raised, so that the record of a failed item is the same in every run.
    """
    results = await asyncio.gather(*awaited, return_exceptions=True)
    problems = [result for result in results if isinstance(result, BaseException)]
    for problem in sorted(problems, key=lambda problem: not isinstance(problem, EndpointError)):
        raise problem
    return [result for result in results if not isinstance(result, BaseException)]


async def shielded(call: Coroutine[Any, Any, T]) -> T:
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
