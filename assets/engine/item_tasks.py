"""Find each record of some items of a unit where it is stored, or make it and store it at once.

A run starts work before it is due, too: later stages of items that are done here, and replacements of items that failed or may
fail.
"""

import asyncio
import hashlib
import traceback
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import chain
from typing import Any

from assets.engine.in_flight import InFlight, Made, Spares
from assets.engine.ports import RunContext
from assets.engine.serialized_record import SerializedRecord, serialize_record
from assets.engine.stage import Stage
from assets.llm.asked_ahead import AskingAhead
from assets.llm.async_calls import gather_all
from assets.llm.item_watch import WATCH, ItemWatch
from assets.llm.ports import EndpointError
from assets.llm.usage import Meter, MeteredModel, Usage
from assets.recipe.recipe import Recipe
from assets.records.base import Failure, ItemFailed, ItemRecord

# A stage's work on what an earlier one has shown, which gives a draft of its own or None.
Drafting = Coroutine[Any, Any, ItemRecord | None]
DraftTask = asyncio.Task[ItemRecord | None]


class RecordedFailure(Exception):
    """An item's failure, on its way from the stage where it happened to the asset that is being made."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass
class DraftsAhead:
    """The drafts of one item: its later stages begin with them, so that the item's chain of calls is shorter.

    What they ask is asked again when their turn comes, of the finished record; where that is as its draft was, the replies
    are there. So no record depends on a draft. What a refused draft had them ask in vain stands in the ledger and counts for
    no stage. `reached`: the stages that the run makes of the item; `find` returns a stage's record, None without one;
    `start` lets work for the item go on.
    """

    recipe: Recipe
    run_context: RunContext
    item_id: str
    reached: Sequence[Stage[ItemRecord]]
    find: Callable[[str], ItemRecord | None]
    start: Callable[[Drafting], DraftTask]
    drafts: dict[str, ItemRecord] = field(default_factory=dict[str, ItemRecord])
    _asked: defaultdict[str, list[DraftTask]] = field(default_factory=lambda: defaultdict[str, list[DraftTask]](list))

    def show(self, stage: str, draft: ItemRecord) -> None:
        """Let the stages that begin with this one's drafts ask what this draft adds, beside what they ask already."""
        self.drafts[stage] = draft
        for other in self.reached:
            begin = other.begins_with.get(stage)
            if begin is not None:
                inputs = [self.drafts.get(need.name) or self.find(need.name) for need in other.needs]
                asking = partial(begin, *inputs, tuple(self._asked[other.name]))
                self._asked[other.name].append(self.start(self._draft(other, asking)))

    async def _draft(self, stage: Stage[ItemRecord], asking: Callable[..., Awaitable[ItemRecord | None]]) -> ItemRecord | None:
        WATCH.set(None)  # what fails here is not lost yet
        labels = self.run_context.labels(stage.name, item_id=self.item_id)
        model = AskingAhead(self.run_context.model, labels, self.run_context.in_flight.ahead)
        recipe = self.recipe.for_stage(stage.name, item_id=self.item_id)
        # The stage itself meets the same failure when its turn comes, and says it.
        with suppress(ItemFailed, EndpointError):
            draft = await asking(recipe=recipe, model=model)
            if draft is not None:
                self.show(stage.name, draft)
            return draft


@dataclass
class ItemTasks:
    """The records of some items of one unit, by stage and position: those `known` from upstream snapshots, those `made` here.

    `source`: the stage that drew the items. `prefetching`: the records are left in flight for the asset to whom they belong.
    `reached`: the stages that the run makes of the items, which begin with drafts of what is made here. `begun` are tasks that
    nobody waits for, `keys` those of the records.
    """

    recipe: Recipe
    run_context: RunContext
    meter: Meter
    source: str
    known: Mapping[str, Mapping[int, Made]]
    spares: Spares
    reached: Sequence[Stage[ItemRecord]]
    prefetching: bool = False
    begun: list[DraftTask] = field(default_factory=list[DraftTask])
    keys: list[str] = field(default_factory=list[str])
    made: dict[str, dict[int, Made]] = field(default_factory=dict[str, dict[int, Made]])
    _running: dict[tuple[str, int], asyncio.Future[Made]] = field(default_factory=dict[tuple[str, int], "asyncio.Future[Made]"])

    def ahead(self, position: int) -> "ItemTasks":
        """Return the tasks that prefetch this item's later stages, with all that is known of the item here."""
        known: dict[str, dict[int, Made]] = {}
        for name, rows in chain(self.known.items(), self.made.items()):
            if position in rows:
                known[name] = {position: rows[position]}
        return replace(self, meter=Meter(), known=known, prefetching=True, begun=[], keys=[], made={}, _running={})

    def start(self, work: Drafting) -> DraftTask:
        """Let work for these items go on, which no record waits for."""
        task = self.run_context.in_flight.start(work)
        self.begun.append(task)
        return task

    def stop(self) -> None:
        """Stop what was begun for these items and is not done."""
        for task in self.begun:
            task.cancel()
        self.run_context.in_flight.stop(self.keys)

    async def record(self, stage: Stage[ItemRecord], position: int) -> Made:
        """Return the stage's record of the item at this position. Raises RecordedFailure when it cannot be finished."""
        known = self.known.get(stage.name, {}).get(position)
        if known is not None:
            return known
        key = (stage.name, position)
        if key not in self._running:
            self._running[key] = asyncio.ensure_future(self._make(stage, position))
        return await self._running[key]

    async def _make(self, stage: Stage[ItemRecord], position: int) -> Made:
        inputs = await gather_all(*(self.record(need, position) for need in stage.needs))
        item_id = self.known[self.source][position].record.item_id
        recipe = self.recipe.for_stage(stage.name, item_id=item_id)
        key = record_key(stage, inputs, recipe=recipe)
        work = partial(self._load_or_make, stage, inputs, recipe=recipe, key=key, item_id=item_id, position=position)
        in_flight = self.run_context.in_flight
        self.keys.append(key)
        made = await (in_flight.prefetch(key, work) if self.prefetching else in_flight.take(key, work, meter=self.meter))
        self.made.setdefault(stage.name, {})[position] = made
        return made

    async def _load_or_make(
        self,
        stage: Stage[ItemRecord],
        inputs: Sequence[Made],
        meter: Meter,
        *,
        recipe: Recipe,
        key: str,
        item_id: str,
        position: int,
    ) -> Made:
        cache = self.run_context.record_cache
        stored = await cache.get(key)
        if stored is not None:
            usage, _, content = stored.partition(b"\n")
            used = Usage.model_validate_json(usage)
            meter.add(used, repeated=used.calls)
            return SerializedRecord(content.decode(), decode=stage.record.model_validate_json)
        ahead = DraftsAhead(self.recipe, self.run_context, item_id, self.reached, partial(self._find, position), self.start)
        on_risk = partial(self.spares.note_risk, position, stage.name)
        on_relief = partial(self.spares.note_relief, position, stage.name)
        WATCH.set(ItemWatch(partial(ahead.show, stage.name), on_risk, on_relief))
        labels = self.run_context.labels(stage.name, item_id=item_id)
        model = MeteredModel(self.run_context.model, labels, meter, self.run_context.in_flight.ahead)
        try:
            record = await stage.make(*(needed.record for needed in inputs), recipe=recipe, model=model)
        except ItemFailed as failed:
            self.spares.note_failures([position])
            raise RecordedFailure(failed.at(stage.name, item_id=item_id, position=position)) from failed
        except Exception as error:
            # Of a task that several wait for, asyncio shows its traceback to the first alone.
            where = "".join(traceback.format_tb(error.__traceback__))
            error.add_note(f"Raised while {stage.name} of {item_id} was made:\n{where}")
            raise
        self.spares.note_pass(position, stage.name)
        made = serialize_record(record)
        await cache.put(key, f"{meter.usage.model_dump_json()}\n{made.text}".encode())
        return made

    def _find(self, position: int, stage: str) -> ItemRecord | None:
        """Return the stage's record of the item where it is known or made already."""
        made = self.known.get(stage, {}).get(position) or self.made.get(stage, {}).get(position)
        return made.record if made is not None else None


def record_key(stage: Stage[ItemRecord], inputs: Sequence[Made], *, recipe: Recipe) -> str:
    """Return the identity of one item's record of a stage: a digest of code, recipe and inputs."""
    parts = [stage.name, stage.code_version, recipe.item_fingerprint, *(needed.sha256 for needed in inputs)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


@dataclass
class Prefetcher:
    """Starts work ahead of one asset's turn. `later`: the stages that the same run reaches afterwards; none: no prefetch.

    `read_item` reads upstream snapshots for one item.
    """

    in_flight: InFlight
    stage: Stage[ItemRecord]
    later: Sequence[Stage[ItemRecord]]
    read_item: Callable[[int], ItemTasks]

    def continue_with(self, tasks: ItemTasks, position: int) -> None:
        """Start the later stages of an item that is done with this one."""
        ahead = tasks.ahead(position)
        self.in_flight.start(_make_records(ahead, position, self._reachable(ahead.known)))

    def begin_spare(self, position: int, *, early: bool = False) -> Callable[[], None]:
        """Start an item of the reserve, where it is `early` for the stages that spares pass; return how to stop it."""
        begun: list[ItemTasks] = []
        stages = [self.stage, *self._reachable([*self.stage.ancestors, self.stage.name])]
        if early:
            stages = [stage for stage in stages if stage.passed_by_spares]

        async def make() -> None:
            ahead = (await asyncio.to_thread(self.read_item, position)).ahead(position)
            begun.append(ahead)
            await _make_records(ahead, position, stages)

        task = self.in_flight.start(make())

        def stop() -> None:
            task.cancel()
            for tasks in begun:
                tasks.stop()

        return stop

    def _reachable(self, known: Iterable[str]) -> list[Stage[ItemRecord]]:
        """Return the later stages whose needs this run has or makes."""
        available = set(known)
        reachable: list[Stage[ItemRecord]] = []
        for stage in self.later:
            if all(need.name in available for need in stage.needs):
                available.add(stage.name)
                reachable.append(stage)
        return reachable


async def _make_records(ahead: ItemTasks, position: int, stages: Sequence[Stage[ItemRecord]]) -> None:
    """Make these records of an item; whoever needs one that failed meets its error again."""
    await asyncio.gather(*(ahead.record(stage, position) for stage in stages), return_exceptions=True)
