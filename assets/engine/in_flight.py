"""Tasks in flight: one item's stage that is being made, whoever waits for it.

The assets of a run are made one after another, but items need not wait for each other: as soon as an item has passed one
asset, the stages of the assets to come start for it. When their turn comes, an asset finds the record made or its task in
flight and waits only for that. So the model is never idle while any item has work ready.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assets.engine.serialized_record import SerializedRecord
from assets.llm.asked_ahead import AheadReplies
from assets.llm.usage import Meter
from assets.recipe.recipe import Unit
from assets.records.base import ItemRecord

Made = SerializedRecord[ItemRecord]
Work = Callable[[Meter], Coroutine[Any, Any, Made]]
T = TypeVar("T")


@dataclass
class InFlightTask:
    """The task, and a meter of its own that passes on to whoever needs the record."""

    task: asyncio.Task[Made]
    meter: Meter


@dataclass
class Spares:
    """Which items of one unit's reserve are begun, and which of them may stop again.

    Each item that failed is replaced by the next one of the reserve, and by no other, whenever the failure becomes known. An
    item that may fail is replaced the same way before it does. Where it passes after all, the last one that was begun is not
    needed. `begin` starts the item at a position, and returns how to stop it; None: nothing is begun.
    """

    unit: Unit
    begin: Callable[[int], Callable[[], None]] | None = None
    failed: set[int] = field(default_factory=set[int])
    # How many calls and gates of an item's stage may each lose it.
    at_risk: Counter[tuple[int, str]] = field(default_factory=Counter[tuple[int, str]])
    # The items that assets are being made of, which nothing here begins or stops.
    taken: set[int] = field(default_factory=set[int])
    begun: dict[int, Callable[[], None]] = field(default_factory=dict[int, Callable[[], None]])

    def take(self, positions: Sequence[int], *, begin: Callable[[int], Callable[[], None]] | None) -> None:
        """Leave these items to the asset that is being made; from now on others begin with it."""
        self.begin = begin
        self.taken.update(positions)
        for position in positions:
            self.begun.pop(position, None)

    def note_failures(self, positions: Iterable[int]) -> None:
        self.failed.update(positions)
        self._settle()

    def note_risk(self, position: int, stage: str) -> None:
        self.at_risk[position, stage] += 1
        self._settle()

    def note_relief(self, position: int, stage: str) -> None:
        """Note that one of the risks of the item's stage is over; a gate may go on refusing what a call wrote."""
        self.at_risk[position, stage] -= 1
        self._settle()

    def note_pass(self, position: int, stage: str) -> None:
        """Note that the item has passed a stage in which it may have been at risk."""
        self.at_risk.pop((position, stage), None)
        self._settle()

    def _settle(self) -> None:
        """Begin and stop items, so that as many are under way as are wanted if all that may fail do."""
        alive = [position for position in self.unit.positions if position not in self.failed]
        endangered = {position for (position, _), risks in self.at_risk.items() if risks > 0} - self.failed
        wanted = set(alive[: len(self.unit.items) + len(endangered)])
        for position in self.unit.reserve:
            known = position in self.begun or position in self.taken
            if position in wanted and not known and self.begin is not None:
                self.begun[position] = self.begin(position)
            elif position in self.begun and position not in wanted and position not in self.failed:
                self.begun.pop(position)()


@dataclass
class InFlight:
    """All tasks in flight of one run, by key of what they make, and the prefetches that started some of them.

    `ahead`: replies to what later stages ask about drafts. `spares`: what is begun of each unit's reserve.
    """

    tasks: dict[str, InFlightTask] = field(default_factory=dict[str, InFlightTask])
    prefetches: set[asyncio.Task[Any]] = field(default_factory=set[asyncio.Task[Any]])
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

    def start(self, prefetch: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
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
