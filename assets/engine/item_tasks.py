"""The work on some items of a unit: find each record where it is stored, or make it and store it at once."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from assets.engine.in_flight import Made
from assets.engine.ports import RunContext
from assets.engine.serialized_record import SerializedRecord, serialized
from assets.engine.stage import Stage
from assets.llm.async_calls import gather_all
from assets.llm.ports import CallLabels
from assets.llm.usage import Meter, MeteredModel, Usage
from assets.recipe.recipe import Recipe
from assets.records.base import Failure, ItemFailed, ItemRecord


class RecordedFailure(Exception):
    """An item's failure, on its way from the stage where it happened to the asset that is being made."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure


@dataclass
class ItemTasks:
    """The records of some items of one unit, by stage and position: those `known` from upstream snapshots, those `made` here.

    `source`: the stage that drew the items. `prefetching`: the records are left in flight for the asset to whom they belong.
    """

    recipe: Recipe
    run_context: RunContext
    meter: Meter
    source: str
    known: Mapping[str, Mapping[int, Made]]
    prefetching: bool = False
    made: dict[str, dict[int, Made]] = field(default_factory=dict[str, dict[int, Made]])
    _running: dict[tuple[str, int], asyncio.Future[Made]] = field(default_factory=dict[tuple[str, int], "asyncio.Future[Made]"])

    def ahead(self, position: int) -> "ItemTasks":
        """The tasks that prefetch this item's later stages, with all that is known of the item here."""
        known: dict[str, dict[int, Made]] = {}
        for records in (self.known, self.made):
            known.update({name: {position: rows[position]} for name, rows in records.items() if position in rows})
        return ItemTasks(self.recipe, self.run_context, Meter(), self.source, known, prefetching=True)

    async def record(self, stage: Stage[ItemRecord], position: int) -> Made:
        """The stage's record of the item at this position. Raises RecordedFailure when the item cannot be finished."""
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
        model = MeteredModel(self.run_context.model, CallLabels(stage=stage.name, item_id=item_id), meter)
        try:
            record = await stage.make(*(one.record for one in inputs), recipe=recipe, model=model)
        except ItemFailed as failed:
            raise RecordedFailure(failed.at(stage.name, item_id=item_id, position=position)) from failed
        made = serialized(record)
        await cache.put(key, f"{meter.usage.model_dump_json()}\n{made.text}".encode())
        return made


def record_key(stage: Stage[ItemRecord], inputs: Sequence[Made], *, recipe: Recipe) -> str:
    """The identity of one item's record of a stage: what it is made from, and by what."""
    parts = [stage.name, stage.code_version, recipe.item_fingerprint, *(one.sha256 for one in inputs)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()
