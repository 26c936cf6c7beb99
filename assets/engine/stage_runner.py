"""Take one work unit through a stage, and replace its items that fail.

A stage works on the first N items of the sample that have not failed. When an item fails, the next one of the reserve takes
its place and passes the earlier stages first; those rows are carried in this stage's snapshot. Which items a stage ends
with is therefore a function of recipe and replies alone, whatever the concurrency.
"""

import asyncio
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import cast

from assets.engine.in_flight import Made, Spares
from assets.engine.item_tasks import ItemTasks, Prefetcher, RecordedFailure
from assets.engine.ports import RunContext, SnapshotRef, SnapshotWriter, StageProgress, serialized_snapshot_rows
from assets.engine.progress import report_regularly
from assets.engine.stage import Stage
from assets.llm.ports import EndpointError
from assets.llm.usage import Meter
from assets.recipe.recipe import Recipe, Unit
from assets.records.base import Failure, ItemRecord

ITEMS_FOR_A_SPARE = 6  # for every so many items one of the reserve passes the first stages, some .13 % of a run's tokens
REPORTED_CAUSES = 10  # in one error; a defect that all items meet is one cause


@dataclass
class StageResult:
    """The outcome of making one asset. `tried` counts items worked on, `wanted` those the unit should have.

    `failed`: items that failed while it was made; replacements fail at the stages that they pass late, too.
    """

    ref: SnapshotRef
    meter: Meter
    seconds: float
    wanted: int
    tried: int
    failed: Sequence[Failure] = ()


@dataclass
class StageRunner:
    """Takes one unit through one stage. `upstream` holds the snapshots that the asset was given, by stage.

    `later` are the stages that the same run reaches afterwards; they start for each item that is done here.
    """

    stage: Stage[ItemRecord]
    unit: Unit
    recipe: Recipe
    run_context: RunContext
    upstream: Mapping[str, SnapshotRef]
    later: Sequence[Stage[ItemRecord]] = ()
    noun: str = "item"
    meter: Meter = field(default_factory=Meter)
    done: int = 0
    tried: int = 0
    # All failures of the unit by position, those of the stages before too.
    failures: dict[int, Failure] = field(default_factory=dict[int, Failure])
    # Those of this stage, in order of time.
    given_up: list[Failure] = field(default_factory=list[Failure])
    started: float = field(default_factory=time.monotonic)

    async def run(self) -> StageResult:
        """Finish N items, or as many as the reserve allows, and write them as a snapshot."""
        prefetching = False
        try:
            result = await self._run()
            prefetching = bool(self.later)
            return result
        finally:
            if not prefetching:
                self.run_context.in_flight.cancel()

    async def _run(self) -> StageResult:
        before = await asyncio.to_thread(self._upstream_failures)
        self.failures.update(before)
        self._spares.note_failures(before)
        # An iterator that looks when it is asked, because items fail while it goes on.
        candidates = (position for position in chain(self.unit.items, self.unit.reserve) if position not in self.failures)
        wanted = len(self.unit.items)
        writer = self.run_context.snapshots.writer(self.stage.name, unit=self.unit.key)
        while True:
            part = list(islice(candidates, min(wanted - self.done, self.run_context.items_per_part)))
            if not part:
                break
            await self._make_and_write(part, writer)
        failures = [self.failures[position] for position in sorted(self.failures)]
        ref = await asyncio.to_thread(writer.finish, failures)
        ref = ref.model_copy(update={**self.stage.made_by, "usage": self.meter.usage})
        new = [failure for failure in failures if failure.position not in before]
        return StageResult(ref, self.meter, time.monotonic() - self.started, wanted, self.tried, new)

    def _upstream_failures(self) -> dict[int, Failure]:
        found: dict[int, Failure] = {}
        for ref in self.upstream.values():
            if ref.failures.items:
                found.update((failure.position, failure) for failure in self.run_context.snapshots.failures(ref))
        return found

    async def _make_and_write(self, part: Sequence[int], writer: SnapshotWriter) -> None:
        """Make some items' rows and write them; when this ends, nothing of them is left in memory."""
        made = await self._make(part)
        await asyncio.to_thread(_write, writer, made)

    async def _make(self, positions: Sequence[int]) -> dict[str, list[tuple[int, Made]]]:
        """Make the stage's records at these positions, and those of earlier stages that replacements lack; by stage."""
        tasks = await asyncio.to_thread(self._item_tasks, positions)
        prefetcher = Prefetcher(
            self.run_context.in_flight, self.stage, self._prefetched_stages, lambda position: self._item_tasks([position])
        )
        self._spares.take(positions, begin=prefetcher.begin_spare if self._prefetched_stages else None)
        if self.stage.passed_by_spares and self._prefetched_stages:
            for position in self.unit.reserve[: len(self.unit.items) // ITEMS_FOR_A_SPARE]:
                prefetcher.begin_spare(position, early=True)
        limit = asyncio.Semaphore(self.run_context.items_at_once)
        reporting = asyncio.create_task(report_regularly(self._report))
        try:
            async with asyncio.TaskGroup() as group:
                for position in positions:
                    group.create_task(self._make_item(tasks, position, limit=limit, prefetcher=prefetcher))
        except ExceptionGroup as group:
            raise first_cause(group) from None
        finally:
            reporting.cancel()
            self._report()
        finished: dict[str, list[tuple[int, Made]]] = {}
        for name, rows in tasks.made.items():
            finished[name] = [(position, rows[position]) for position in sorted(rows) if position not in self.failures]
        return finished

    async def _make_item(self, tasks: ItemTasks, position: int, *, limit: asyncio.Semaphore, prefetcher: Prefetcher) -> None:
        async with limit:
            self.tried += 1
            try:
                await tasks.record(self.stage, position)
                self.done += 1
                prefetcher.continue_with(tasks, position)
            except RecordedFailure as recorded:
                self.given_up.append(recorded.failure)
                self.failures[position] = recorded.failure

    @property
    def _spares(self) -> Spares:
        return self.run_context.in_flight.spares.setdefault(self.unit.key, Spares(self.unit))

    @property
    def _prefetched_stages(self) -> Sequence[Stage[ItemRecord]]:
        """The stages that start for each item that is done here.

        Prefetched records wait in memory for their asset, so a unit of many parts, which keeps the model busy anyway, does
        without.
        """
        return () if len(self.unit.items) > self.run_context.items_per_part else self.later

    def _item_tasks(self, positions: Sequence[int]) -> ItemTasks:
        """Tasks that know what the upstream snapshots hold of these items, their own rows and the carried ones."""
        stages = {**self.stage.ancestors, self.stage.name: self.stage}
        refs = self.upstream.values()
        known: dict[str, dict[int, Made]] = {}
        for part in chain.from_iterable(ref.parts for ref in refs):
            if part.stage not in known:
                known[part.stage] = serialized_snapshot_rows(
                    part.stage,
                    record=stages[part.stage].record,
                    refs=refs,
                    snapshots=self.run_context.snapshots,
                    positions=positions,
                )
        (source,) = (stage.name for stage in stages.values() if not stage.needs)
        reached = (*stages.values(), *self._prefetched_stages)
        return ItemTasks(self.recipe, self.run_context, self.meter, source, known, self._spares, reached)

    def _report(self) -> None:
        if self.run_context.report is not None:
            self.run_context.report(
                StageProgress(
                    stage=self.stage.name,
                    unit=self.unit.key,
                    done=self.done,
                    total=len(self.unit.items),
                    calls=self.meter.usage.calls,
                    repeated=self.meter.repeated,
                    seconds=time.monotonic() - self.started,
                    noun=self.noun,
                    given_up=tuple(self.given_up),
                )
            )


def _write(writer: SnapshotWriter, made: dict[str, list[tuple[int, Made]]]) -> None:
    """Write the rows and release them one stage at a time, before the garbage collector could look through all of them."""
    while made:
        writer.add(*made.popitem())


def first_cause(group: ExceptionGroup[Exception]) -> Exception:
    """Return one of a group's errors to raise in its place: Dagster keeps the words of a group, and not the errors in it.

    An error that the user can mend comes before a defect. Every other cause is added to it as a note, with its traceback;
    a cause that several items share is added once.
    """
    errors = sorted(_single_errors(group), key=lambda error: not isinstance(error, EndpointError | OSError))
    first, *others = errors
    if isinstance(first, EndpointError | OSError):
        return first
    known = {repr(first)}
    for other in others:
        if repr(other) not in known and len(known) < REPORTED_CAUSES:
            known.add(repr(other))
            first.add_note("Another item failed as well:\n" + "".join(traceback.format_exception(other)))
    return first


def _single_errors(group: ExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, ExceptionGroup):
            yield from _single_errors(cast(ExceptionGroup[Exception], error))
        else:
            yield error
