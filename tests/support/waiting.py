"""Waiting until something is so, however slow the machine is; the end is far off and only guards against hanging."""

import asyncio
import time
from collections.abc import Callable

LONG = 60.0


def wait_until(holds: Callable[[], object], *, seconds: float = LONG) -> None:
    """Look again and again."""
    give_up = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < give_up, f"not so after {seconds:g} seconds"
        time.sleep(0.02)


async def until(holds: Callable[[], object], *, seconds: float = LONG) -> None:
    """Let the event loop run, and other threads, until it is so."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110  what is waited for may be anything
            await asyncio.sleep(0.001)
