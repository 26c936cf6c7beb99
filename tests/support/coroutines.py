"""Work of a coroutine run to its end, for tests that are no coroutines."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


def run(work: Awaitable[T]) -> T:
    """Run to the end on a loop of its own."""

    async def finish() -> T:
        return await work

    return asyncio.run(finish())
