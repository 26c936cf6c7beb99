"""Calls that are paid for once they have begun."""

import asyncio
from dataclasses import dataclass, field

from assets.llm.async_calls import shielded


@dataclass
class PaidCalls:
    """Takes down each call that came back, by its name."""

    came_back: list[str] = field(default_factory=list[str])

    async def user(self) -> None:
        """One call, and another after it."""
        await shielded(self._call("paid"))
        await shielded(self._call("not asked any more"))

    async def _call(self, name: str) -> None:
        await asyncio.sleep(0.05)
        self.came_back.append(name)
