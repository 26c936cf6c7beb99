"""Calls that are paid for once they have begun."""

import asyncio
from dataclasses import dataclass, field

from assets.llm.async_calls import shield_call


@dataclass
class PaidCalls:
    """Takes down each call that came back, by its name.

    A call comes back so many `seconds` after whoever waits for it was cancelled, and not before.
    """

    seconds: float = 0.05
    begun: int = 0
    given_up: int = 0  # users who were cancelled
    came_back: list[str] = field(default_factory=list[str])

    async def user(self) -> None:
        """One call, and another after it."""
        cancelled = asyncio.Event()
        try:
            await shield_call(self._call("paid", cancelled))
            await shield_call(self._call("not asked any more", cancelled))
        except asyncio.CancelledError:
            self.given_up += 1
            cancelled.set()
            raise

    async def _call(self, name: str, cancelled: asyncio.Event) -> None:
        self.begun += 1
        await cancelled.wait()
        await asyncio.sleep(self.seconds)
        self.came_back.append(name)
