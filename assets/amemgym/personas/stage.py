"""Stage 1: N personas and a reserve, drawn from the pool by seeded rank (section 3.1, user profile sampling)."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import dagster as dg

from assets.amemgym import stage_summaries
from assets.amemgym.personas.sampling import pool_files, sample_personas
from assets.amemgym.records.persona import Persona
from assets.engine.progress import Steps, heartbeat
from assets.engine.run_context import RunContext
from assets.engine.serialized_record import serialized_rows
from assets.engine.stage_asset import stage_definition
from assets.engine.stage_runner import PERSONAS, StageResult
from assets.llm.ports import SnapshotRef
from assets.llm.usage_meter import Meter
from assets.recipe.loading import RecipeError, Unit, units
from assets.recipe.partitions import UNIT_PARTITIONS, by_variant, unit_of
from assets.recipe.recipe import Recipe
from assets.reporting.asset_description import OWNERS, AssetDescription, definition, group
from assets.reporting.markdown import Row
from assets.reporting.materialization import first_records, stage_metadata


def draw_unit(recipe: Recipe, unit: Unit) -> Iterator[tuple[int, Persona]]:
    """The unit's personas at their positions in the variant's sample, users first, then its reserve.

    A few are held at a time. Raises RecipeError when the pool cannot give them.
    """
    count = recipe.num_users + recipe.num_reserve if recipe.users_per_shard is None else max(unit.positions, default=-1) + 1
    drawn = sample_personas(recipe, pool_files(recipe.pool), count=count, positions=unit.positions)
    yield from zip(unit.positions, drawn, strict=True)


def _rows(persona: Persona) -> list[Row]:
    return [
        {
            "uuid": persona.user_id,
            "age": persona.age,
            "sex": persona.sex,
            "occupation": persona.occupation,
            "city": persona.city,
            "hobbies": persona.hobbies_and_interests_list,
            "persona": persona.persona,
        }
    ]


DESCRIPTION = AssetDescription(
    group="sampling",
    description="Personas sampled from the pool by seeded rank: the variant's users and a reserve that replaces users who "
    "cannot be finished (paper section 3.1). The sample is the same whatever the order of the pool's files.",
    rows=_rows,
    survey=stage_summaries.of_personas,
)


@dg.asset(
    name="personas",
    ins={"recipe": dg.AssetIn(partition_mapping=by_variant())},
    partitions_def=UNIT_PARTITIONS,
    required_resource_keys={"run_context"},
    group_name=group(DESCRIPTION.group),
    description=DESCRIPTION.description,
    kinds={"duckdb", "parquet"},
    owners=OWNERS,
    code_version=PERSONAS.code_version,
    tags={"asks_a_model": "no", "paper": DESCRIPTION.paper},
    metadata=stage_definition(PERSONAS) | definition(None, draw_unit, sample_personas),
)
def personas(context: dg.AssetExecutionContext, recipe: Recipe) -> dg.MaterializeResult[Any]:
    """Draw the unit's personas. Raises dg.Failure with one sentence when the pool cannot give them."""
    run_context: RunContext = context.resources.run_context
    unit = unit_of(context.partition_key, among=units(recipe))
    try:
        with heartbeat(context.log.info, Steps(f"{unit.key}: drawing {len(unit.positions)} personas").line):
            ref = _written(run_context, unit, draw_unit(recipe, unit))
    except RecipeError as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    result = StageResult(ref, Meter(), 0.0, len(unit.positions), ref.users)
    records = first_records(run_context.snapshots, result, Persona)
    told = stage_metadata(result, description=DESCRIPTION, records=records, stored_at=run_context.snapshots.place.address)
    return dg.MaterializeResult(value=ref, data_version=dg.DataVersion(ref.digest[:16]), metadata=told)


def _written(run_context: RunContext, unit: Unit, drawn: Iterator[tuple[int, Persona]]) -> SnapshotRef:
    writer = run_context.snapshots.writer("personas", unit=unit.key)
    while rows := list(islice(drawn, run_context.users_per_part)):
        writer.add("personas", serialized_rows(rows))
    return writer.finish([])
