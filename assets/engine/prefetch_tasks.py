"""Work in the air: one user's stage that is being made, whoever waits for it.

The assets of a run take their turns one after another, but the users need not wait for each other: as soon as a user
has passed one asset, the stages of the assets to come start for them. An asset whose turn comes finds the work done or
in the air and waits only for that. So no slot of the model is idle while any user has work ready.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from assets.engine.serialized_record import SerializedRecord
from assets.llm.usage_meter import Meter
from assets.records.base import UserRecord

Made = SerializedRecord[UserRecord]
Work = Callable[[Meter], Coroutine[Any, Any, Made]]


@dataclass
class Flight:
    """The work, and a meter of its own that passes on to whoever needs the record."""

    task: asyncio.Task[Made]
    meter: Meter


@dataclass
class Flights:
    """All work in the air of one run, by key of its content."""

    flying: dict[str, Flight] = field(default_factory=dict[str, Flight])
    outlooks: set[asyncio.Task[None]] = field(default_factory=set[asyncio.Task[None]])

    async def wait(self, key: str, work: Work) -> Made:
        """The record under this key, without taking it: for work done ahead of its asset's turn."""
        return await asyncio.shield(self._find_or_start(key, work).task)

    async def take(self, key: str, work: Work, *, meter: Meter) -> Made:
        """The record under this key, for the asset whose turn it is; all that it used counts in this asset's meter."""
        flight = self._find_or_start(key, work)
        meter.take_over(flight.meter)
        try:
            return await asyncio.shield(flight.task)
        finally:
            if flight.task.done():
                self.flying.pop(key, None)

    def look_ahead(self, work: Coroutine[Any, Any, None]) -> None:
        """Let this go on while the run does other things."""
        task = asyncio.get_running_loop().create_task(work)
        self.outlooks.add(task)
        task.add_done_callback(self.outlooks.discard)

    def abandon(self) -> None:
        """Stop everything that is in the air; its replies are kept, so nothing paid is lost."""
        for task in [*self.outlooks, *(flight.task for flight in self.flying.values())]:
            task.cancel()
        self.flying.clear()

    def _find_or_start(self, key: str, work: Work) -> Flight:
        loop = asyncio.get_running_loop()
        flight = self.flying.get(key)
        # Work of an earlier run in this process went down with that run's event loop.
        if flight is None or flight.task.get_loop() is not loop:
            meter = Meter()
            flight = self.flying[key] = Flight(loop.create_task(work(meter)), meter)
            # A failure that nobody came back for is no news: its user was given up elsewhere.
            flight.task.add_done_callback(lambda done: None if done.cancelled() else done.exception())
        return flight
