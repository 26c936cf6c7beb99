"""A coroutine run to its end, for tests that are no coroutines."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end on a loop of its own."""
    return asyncio.run(work)
