"""What a run starts before it is due: later stages of items that are done here, and replacements of items that failed.

Nothing is started that is not going to be needed: each failed item is replaced by the next one of the reserve, and by no
other, whenever the failure becomes known.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from assets.engine.in_flight import InFlight
from assets.engine.item_tasks import ItemTasks, RecordedFailure
from assets.engine.stage import Stage
from assets.records.base import ItemRecord


@dataclass
class Prefetcher:
    """Starts work ahead of one asset's turn. `later`: the stages that the same run reaches afterwards; none: no prefetch.

    `reserve`: positions of the next items to take a failed one's place; `read_item` reads upstream snapshots for one.
    """

    in_flight: InFlight
    stage: Stage[ItemRecord]
    later: Sequence[Stage[ItemRecord]]
    read_item: Callable[[int], ItemTasks]
    reserve: list[int] = field(default_factory=list[int])
    replaced: set[int] = field(default_factory=set[int])

    def continue_with(self, tasks: ItemTasks, position: int) -> None:
        """Start the later stages of an item that is done with this one."""
        ahead = tasks.ahead(position)
        self.in_flight.start(self._make(ahead, position, self._reachable(ahead.known)))

    def start_replacement(self, position: int) -> None:
        """Start the next item of the reserve, once for each item that failed."""
        if position in self.replaced or not self.later:
            return
        self.replaced.add(position)
        if self.reserve:
            self.in_flight.start(self._make_replacement(self.reserve.pop(0)))

    async def _make_replacement(self, position: int) -> None:
        ahead = (await asyncio.to_thread(self.read_item, position)).ahead(position)
        await self._make(ahead, position, [self.stage, *self._reachable([*self.stage.ancestors, self.stage.name])])

    async def _make(self, ahead: ItemTasks, position: int, stages: Sequence[Stage[ItemRecord]]) -> None:
        results = await asyncio.gather(*(ahead.record(stage, position) for stage in stages), return_exceptions=True)
        if any(isinstance(result, RecordedFailure) for result in results):
            self.start_replacement(position)

    def _reachable(self, known: Iterable[str]) -> list[Stage[ItemRecord]]:
        """The later stages that need nothing which this run does not have or make."""
        available = set(known)
        reachable: list[Stage[ItemRecord]] = []
        for stage in self.later:
            if all(need.name in available for need in stage.needs):
                available.add(stage.name)
                reachable.append(stage)
        return reachable
