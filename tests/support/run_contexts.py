"""Run contexts whose stores are a folder and a dict, and stages that run in them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assets.engine.ports import RunContext, SnapshotRef
from assets.engine.provenance import Provenance
from assets.engine.serialized_record import serialized_rows
from assets.engine.stage import Stage
from assets.engine.stage_runner import StageResult, StageRunner
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.recipe import units
from pipelines.resources.storage.snapshots import ParquetSnapshots
from tests.support.coroutines import run
from tests.support.scripted_model import ScriptedModel
from tests.support.small import persona


@dataclass
class DictRecordCache:
    """The RecordCache port over a dict."""

    records: dict[str, bytes] = field(default_factory=dict[str, bytes])

    async def get(self, key: str) -> bytes | None:
        return self.records.get(key)

    async def put(self, key: str, record: bytes) -> None:
        self.records[key] = record


def run_context(folder: Path, model: ScriptedModel, **changes: Any) -> RunContext:
    """A run context whose snapshots lie in the folder."""
    fields: dict[str, Any] = {"snapshots": ParquetSnapshots(folder), "record_cache": DictRecordCache(), **changes}
    return RunContext(model=model, **fields)


def sampled(context: RunContext, recipe: AMemGymRecipe) -> SnapshotRef:
    """A snapshot of personas 0, 1, ... for the recipe's users and reserve."""
    writer = context.snapshots.writer("personas", unit=recipe.variant)
    writer.add(
        "personas", serialized_rows((number, persona(number)) for number in range(recipe.num_users + recipe.num_reserve))
    )
    return writer.finish([])


def provenance(recipe: AMemGymRecipe, refs: Mapping[str, SnapshotRef]) -> Provenance:
    """What is made from these snapshots of the recipe's only unit."""
    (unit,) = units(recipe)
    return Provenance(recipe=recipe, snapshots={unit.key: dict(refs)})


def runner_of(stage: Stage[Any], context: RunContext, recipe: AMemGymRecipe, refs: Mapping[str, SnapshotRef]) -> StageRunner:
    """The runner of the recipe's only unit, with the snapshots that the stage's asset would be given."""
    (unit,) = units(recipe)
    names: tuple[str, ...] = ("personas", *(need.name for need in stage.needs))
    return StageRunner(stage, unit, recipe, context, {name: refs[name] for name in names})


def materialized(context: RunContext, recipe: AMemGymRecipe, *stages: Stage[Any]) -> dict[str, StageResult]:
    """Pass the sample through these stages, one after another."""
    refs: dict[str, SnapshotRef] = {"personas": sampled(context, recipe)}
    results: dict[str, StageResult] = {}
    for stage in stages:
        results[stage.name] = run(runner_of(stage, context, recipe, refs).run())
        refs[stage.name] = results[stage.name].ref
    return results
