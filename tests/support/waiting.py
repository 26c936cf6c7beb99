"""Waiting until something is so, however slow the machine is; the end is far off and only guards against hanging."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

LONG = 60.0
T = TypeVar("T")


def wait_until(holds: Callable[[], T], *, seconds: float = LONG) -> T:
    """Look again and again; return what was found, for another look may find something else."""
    give_up = time.monotonic() + seconds
    found = holds()
    while not found:
        assert time.monotonic() < give_up, f"not so after {seconds:g} seconds"
        time.sleep(0.02)
        found = holds()
    return found


async def until(holds: Callable[[], object], *, seconds: float = LONG) -> None:
    """Let the event loop run, and other threads, until it is so."""
    async with asyncio.timeout(seconds):
        while not holds():  # noqa: ASYNC110  what is waited for may be anything
            await asyncio.sleep(0.001)
