"""Tasks in flight: one item's stage that is being made, whoever waits for it.

The assets of a run are made one after another, but items need not wait for each other: as soon as an item has passed one
asset, the stages of the assets to come start for it. When their turn comes, an asset finds the record made or its task in
flight and waits only for that. So the model is never idle while any item has work ready.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from typing import Any

from assets.engine.serialized_record import SerializedRecord
from assets.engine.spares import Spares
from assets.llm.asked_ahead import AheadReplies
from assets.llm.usage import Meter
from assets.records.base import ItemRecord

Made = SerializedRecord[ItemRecord]
Work = Callable[[Meter], Coroutine[Any, Any, Made]]


@dataclass
class InFlightTask:
    """The task, and a meter of its own that passes on to whoever needs the record."""

    task: asyncio.Task[Made]
    meter: Meter


@dataclass
class InFlight:
    """All tasks in flight of one run, by key of what they make, and the prefetches that started some of them.

    `ahead`: replies to what later stages ask about drafts. `spares`: what is begun of each unit's reserve.
    """

    tasks: dict[str, InFlightTask] = field(default_factory=dict[str, InFlightTask])
    prefetches: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])
    ahead: AheadReplies = field(default_factory=AheadReplies)
    spares: dict[str, Spares] = field(default_factory=dict[str, Spares])

    async def prefetch(self, key: str, work: Work) -> Made:
        """Return the record under this key; its task stays in flight for the asset that comes to it later."""
        return await asyncio.shield(self._find_or_start(key, work).task)

    async def take(self, key: str, work: Work, *, meter: Meter) -> Made:
        """Return the record under this key to the asset that is being made; its usage counts in this asset's meter."""
        found = self._find_or_start(key, work)
        meter.take_over(found.meter)
        try:
            return await asyncio.shield(found.task)
        finally:
            if found.task.done():
                self.tasks.pop(key, None)

    def stop(self, keys: Iterable[str]) -> None:
        """Stop the tasks under these keys; a call that is paid for comes back and is stored."""
        for key in keys:
            found = self.tasks.pop(key, None)
            if found is not None:
                found.task.cancel()

    def start(self, prefetch: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Let a prefetch go on while the run does other things."""
        task = asyncio.get_running_loop().create_task(prefetch)
        self.prefetches.add(task)
        task.add_done_callback(self.prefetches.discard)
        return task

    def cancel(self) -> None:
        """Stop everything in flight; replies that came are in the cache, so nothing paid is lost."""
        for prefetch in list(self.prefetches):
            prefetch.cancel()
        for found in self.tasks.values():
            found.task.cancel()
        self.tasks.clear()
        self.ahead.cancel()
        self.spares.clear()

    def _find_or_start(self, key: str, work: Work) -> InFlightTask:
        loop = asyncio.get_running_loop()
        found = self.tasks.get(key)
        # Tasks of an earlier run in this process ended with that run's event loop.
        if found is None or found.task.get_loop() is not loop:
            meter = Meter()
            found = self.tasks[key] = InFlightTask(loop.create_task(work(meter)), meter)
            # Retrieves an error that nobody waits for: the item failed elsewhere and was replaced.
            found.task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        return found
