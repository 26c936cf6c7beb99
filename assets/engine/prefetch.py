"""What a run starts before it is due: the later stages of users who are done here, and stand-ins for users who are lost.

Nothing is started that is not going to be needed: each lost user is replaced by the next persona of the reserve, and by no
other, whenever the loss becomes known.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from assets.engine.item_tasks import Desk, GivenUp
from assets.engine.prefetch_tasks import Flights
from assets.engine.stage import Stage
from assets.records.base import UserRecord


@dataclass
class LookAhead:
    """Work ahead of one asset's turn. `later`: the stages that the same run reaches afterwards, none to stand still.

    `reserve` are the personas next in line; `open_desk` reads what upstream snapshots hold of one of them.
    """

    flights: Flights
    stage: Stage[UserRecord]
    later: Sequence[Stage[UserRecord]]
    open_desk: Callable[[int], Desk]
    reserve: list[int] = field(default_factory=list[int])
    lost: set[int] = field(default_factory=set[int])

    def go_on(self, desk: Desk, position: int) -> None:
        """Start the later stages of a user who is done with this one."""
        outlook = desk.outlook(position)
        self.flights.look_ahead(self._follow(outlook, position, self._reachable(outlook.known)))

    def replace(self, position: int) -> None:
        """Start the next persona of the reserve, once for each user who is lost."""
        if position in self.lost or not self.later:
            return
        self.lost.add(position)
        if self.reserve:
            self.flights.look_ahead(self._stand_in(self.reserve.pop(0)))

    async def _stand_in(self, position: int) -> None:
        outlook = (await asyncio.to_thread(self.open_desk, position)).outlook(position)
        await self._follow(outlook, position, [self.stage, *self._reachable(ancestry(self.stage))])

    async def _follow(self, outlook: Desk, position: int, stages: Sequence[Stage[UserRecord]]) -> None:
        results = await asyncio.gather(*(outlook.record(stage, position) for stage in stages), return_exceptions=True)
        if any(isinstance(result, GivenUp) for result in results):
            self.replace(position)

    def _reachable(self, known: Iterable[str]) -> list[Stage[UserRecord]]:
        """The later stages that need nothing which this run does not have or make."""
        available = set(known)
        reachable: list[Stage[UserRecord]] = []
        for stage in self.later:
            if all(need.name in available for need in stage.needs):
                available.add(stage.name)
                reachable.append(stage)
        return reachable


def ancestry(stage: Stage[UserRecord]) -> dict[str, Stage[UserRecord]]:
    """The stage and all that it needs, directly or not, by name."""
    found: dict[str, Stage[UserRecord]] = {stage.name: stage}
    for need in stage.needs:
        found.update(ancestry(need))
    return found
