"""A small clean set to spoil: three users whom the embedded model wrote, passed through all stages once per process."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from assets.amemgym.personas.stage import draw_unit
from assets.amemgym.pipeline import STAGES
from assets.amemgym.tables import TABLES
from assets.engine.ports import RunContext, SnapshotRef
from assets.engine.serialized_record import serialized_rows
from assets.llm.ports import ModelReply, ModelRequest
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.loading import load_recipe
from assets.recipe.recipe import units
from assets.records.base import Failure, ItemRecord, Record
from pipelines.embedded.app import write_reply
from pipelines.embedded.task import recognise
from pipelines.resources.storage.snapshots import ParquetSnapshots
from tests.support.coroutines import run
from tests.support.run_contexts import DictRecordCache, runner_of
from tests.support.scripted_model import reply
from validation.amemgym.tables import failure_rows, item_rows
from validation.finished_items import records_of


class EmbeddedModel:
    """The LanguageModel port, straight to the embedded model."""

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Its reply to the messages, which are all that it sees."""
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        seed = request.seed + request.sample
        return reply(write_reply(recognise(messages, schema_name=request.schema_name, seed=seed)))


@dataclass(frozen=True)
class CleanSet:
    """All records of the finished users, by stage and user, and the snapshots they come from."""

    recipe: AMemGymRecipe
    records: Mapping[str, Mapping[str, ItemRecord]]
    refs: Mapping[str, SnapshotRef]
    failures: Sequence[Failure]

    def rows(self, stage: str) -> list[Any]:
        return list(self.records[stage].values())

    def of_user(self, user: str) -> dict[str, ItemRecord]:
        """A finished user's records by stage."""
        return {stage: rows[user] for stage, rows in self.records.items()}

    @property
    def released(self) -> frozenset[str]:
        """The ids of the finished users."""
        return frozenset(self.records["episodes"])

    @cached_property
    def tables(self) -> Mapping[str, Sequence[Record]]:
        """The rows that a release of these users would have."""
        parts = [item_rows(self.of_user(user)) for user in self.records["episodes"]]
        parts.append(failure_rows(self.failures, self.released))
        return {name: [row for part in parts for row in part.get(name, ())] for name in TABLES}


def clean_set_recipe() -> AMemGymRecipe:
    """The demo's recipe with fewer questions; every variable has room to change."""
    shared = load_recipe("demo").model_dump(mode="json")
    return AMemGymRecipe.model_validate({**shared, "num_questions": 3, "num_periods": 4, "exclude_ids": ["excluded"]})


@cache
def clean_set() -> CleanSet:
    return set_by_embedded_model(clean_set_recipe())


def set_by_embedded_model(recipe: AMemGymRecipe) -> CleanSet:
    """All stages of a recipe of one unit, with what the embedded model writes and judges."""
    (unit,) = units(recipe)
    with TemporaryDirectory() as folder:
        shop = RunContext(model=EmbeddedModel(), snapshots=ParquetSnapshots(Path(folder)), record_cache=DictRecordCache())
        writer = shop.snapshots.writer("personas", unit=unit.key)
        writer.add("personas", serialized_rows(draw_unit(recipe, unit)))
        refs: dict[str, SnapshotRef] = {"personas": writer.finish([])}
        for stage in STAGES[1:]:
            refs[stage.name] = run(runner_of(stage, shop, recipe, refs).run()).ref
        found: dict[str, dict[str, ItemRecord]] = {stage.name: records_of(stage, refs, shop) for stage in STAGES}
        failures = shop.snapshots.failures(refs["episodes"])
    users = list(found["episodes"])
    records: dict[str, dict[str, ItemRecord]] = {name: {user: rows[user] for user in users} for name, rows in found.items()}
    return CleanSet(recipe, records, refs, failures)
