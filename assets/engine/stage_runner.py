"""One work unit's way through a stage: who is worked on, and who replaces those given up.

A stage works on the first N personas of the sample that have not failed. When a user fails, the next persona takes
the place and passes the earlier stages first; those rows are carried in this stage's snapshot. Which users a stage
ends with is therefore a function of recipe and replies alone, whatever the concurrency.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from assets.engine.gc_control import all_there_spared, collector_at_rest
from assets.engine.item_tasks import Desk, GivenUp
from assets.engine.prefetch import LookAhead, ancestry
from assets.engine.prefetch_tasks import Made
from assets.engine.run_context import RunContext
from assets.engine.snapshot_rows import serialized_rows_of
from assets.engine.stage import Stage
from assets.llm.ports import EndpointError, SnapshotRef, SnapshotWriter, StageProgress
from assets.llm.usage_meter import Meter
from assets.recipe.loading import Unit
from assets.recipe.recipe import Recipe
from assets.records.base import UserRecord
from assets.records.failure import Failure

TICK_SECONDS = 0.5


@dataclass
class StageResult:
    """What making one asset came to. `tried` counts users worked on, `wanted` those the unit should have.

    `lost`: users given up while it was made; replacements fail at the stages that they pass late, too.
    """

    ref: SnapshotRef
    meter: Meter
    seconds: float
    wanted: int
    tried: int
    lost: Sequence[Failure] = ()


@dataclass
class Line:
    """Works one unit through one stage. `upstream` holds the snapshots that the asset was given, by stage.

    `later` are the stages that the same run reaches afterwards; they start for each user who is done here.
    """

    stage: Stage[UserRecord]
    unit: Unit
    recipe: Recipe
    run_context: RunContext
    upstream: Mapping[str, SnapshotRef]
    later: Sequence[Stage[UserRecord]] = ()
    meter: Meter = field(default_factory=Meter)
    done: int = 0
    tried: int = 0
    lost: int = 0
    failed: dict[int, Failure] = field(default_factory=dict[int, Failure])
    started: float = field(default_factory=time.monotonic)

    async def run(self) -> StageResult:
        """Finish N users, or as many as the reserve allows, and write them as a snapshot."""
        landed = False
        try:
            result = await self._run()
            landed = bool(self.later)
            return result
        finally:
            if not landed:
                self.run_context.flights.abandon()

    async def _run(self) -> StageResult:
        before = await asyncio.to_thread(self._failed_before)
        self.failed.update(before)
        waiting = (position for position in chain(self.unit.users, self.unit.reserve) if position not in self.failed)
        wanted = len(self.unit.users)
        writer = self.run_context.snapshots.writer(self.stage.name, unit=self.unit.key)
        while batch := list(islice(waiting, min(wanted - self.done, self.run_context.users_per_part))):
            with all_there_spared():
                await self._part(batch, writer)
        told = [self.failed[position] for position in sorted(self.failed)]
        ref = await asyncio.to_thread(writer.finish, told)
        usage = {name: used for ref in self.upstream.values() for name, used in ref.usage.items()}
        ref = ref.model_copy(update={"usage": {**usage, self.stage.name: self.meter.usage}})
        lost = [failure for failure in told if failure.position not in before]
        return StageResult(ref, self.meter, time.monotonic() - self.started, wanted, self.tried, lost)

    async def _part(self, batch: Sequence[int], writer: SnapshotWriter) -> None:
        """Make some users' rows and write them; when this ends, nothing of them is left for the search to look through."""
        made = await self._batch(batch)
        with collector_at_rest():
            await asyncio.to_thread(_written, writer, made)

    def _failed_before(self) -> dict[int, Failure]:
        """Who was given up in the stages before, by position."""
        snapshots, refs = self.run_context.snapshots, [ref for ref in self.upstream.values() if ref.failures.users]
        return {failure.position: failure for ref in refs for failure in snapshots.failures(ref)}

    async def _batch(self, positions: Sequence[int]) -> dict[str, list[tuple[int, Made]]]:
        desk = await asyncio.to_thread(self._desk, positions)
        ahead = self._look_ahead(after=positions[-1])
        slots = asyncio.Semaphore(self.run_context.users_at_once)
        ticker = asyncio.create_task(self._tick())
        try:
            await self._all([self._one(desk, position, slots=slots, ahead=ahead) for position in positions])
        finally:
            ticker.cancel()
            self._report()
        return {
            name: sorted((position, record) for position, record in rows.items() if position not in self.failed)
            for name, rows in desk.made.items()
        }

    async def _all(self, jobs: Sequence[object]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                for job in jobs:
                    group.create_task(job)  # pyright: ignore[reportArgumentType, reportUnknownMemberType]
        except* (EndpointError, OSError) as errors:
            raise errors.exceptions[0] from None

    async def _one(self, desk: Desk, position: int, *, slots: asyncio.Semaphore, ahead: LookAhead) -> None:
        async with slots:
            self.tried += 1
            try:
                await desk.record(self.stage, position)
                self.done += 1
                ahead.go_on(desk, position)
            except GivenUp as given_up:
                self.lost += 1
                self.failed[position] = given_up.failure
                ahead.replace(position)

    def _look_ahead(self, *, after: int) -> LookAhead:
        def open_desk(position: int) -> Desk:
            return self._desk([position])

        # Records made ahead wait in memory for their asset, so a unit of many parts, which keeps the model busy anyway,
        # does without.
        if len(self.unit.users) > self.run_context.users_per_part:
            return LookAhead(self.run_context.flights, self.stage, (), open_desk)
        reserve = [position for position in self.unit.positions if position > after and position not in self.failed]
        return LookAhead(self.run_context.flights, self.stage, self.later, open_desk, reserve)

    def _desk(self, positions: Sequence[int]) -> Desk:
        return Desk(self.recipe, self.run_context, self.meter, self._known(positions))

    def _known(self, positions: Sequence[int]) -> dict[str, dict[int, Made]]:
        """What the upstream snapshots hold of these users, their own rows and the carried ones."""
        refs, snapshots, stages = self.upstream.values(), self.run_context.snapshots, ancestry(self.stage)
        names: set[str] = {part.stage for ref in refs for part in ref.parts}
        return {
            name: serialized_rows_of(name, record=stages[name].record, refs=refs, snapshots=snapshots, positions=positions)
            for name in names
        }

    async def _tick(self) -> None:
        while True:
            self._report()
            await asyncio.sleep(TICK_SECONDS)

    def _report(self) -> None:
        if self.run_context.report is not None:
            self.run_context.report(
                StageProgress(
                    stage=self.stage.name,
                    unit=self.unit.key,
                    done=self.done,
                    total=len(self.unit.users),
                    failed=self.lost,
                    calls=self.meter.usage.calls,
                    repeated=self.meter.repeated,
                    seconds=time.monotonic() - self.started,
                )
            )


def _written(writer: SnapshotWriter, made: dict[str, list[tuple[int, Made]]]) -> None:
    """Write the rows and let go of them here, before the search for cycles wakes: it would look through all of them."""
    while made:
        writer.add(*made.popitem())
