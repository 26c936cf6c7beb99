"""Stage 1: N personas and a reserve, drawn from the pool by seeded rank (section 3.1, user profile sampling)."""

import asyncio
from typing import Any

import dagster as dg

from assets.line import PERSONAS, StageResult
from assets.metering import Meter
from assets.partitions import UNIT_PARTITIONS, by_variant, unit_of
from assets.ports import SnapshotRef
from assets.recipes import RecipeError, Unit, units
from assets.records.persona import Persona
from assets.records.recipe import Recipe
from assets.sampling import pool_files, sample_personas
from assets.stage import OWNERS, Face, Row, metadata
from assets.workshop import Workshop


def draw_unit(recipe: Recipe, unit: Unit) -> list[tuple[int, Persona]]:
    """The unit's personas at their positions in the variant's sample, users first, then its reserve."""
    count = recipe.num_users + recipe.num_reserve if recipe.users_per_shard is None else max(unit.positions, default=-1) + 1
    sample = sample_personas(recipe, pool_files(recipe.pool), count=count)
    return [(position, sample[position]) for position in unit.positions]


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


FACE = Face(
    group="sampling",
    description="Personas sampled from the pool by seeded rank: the variant's users and a reserve that replaces users who "
    "cannot be finished (paper section 3.1). The sample is the same whatever the order of the pool's files.",
    rows=_rows,
)


@dg.asset(
    name="personas",
    ins={"recipe": dg.AssetIn(partition_mapping=by_variant())},
    partitions_def=UNIT_PARTITIONS,
    required_resource_keys={"workshop"},
    group_name=FACE.group,
    description=FACE.description,
    kinds={"duckdb", "parquet"},
    owners=OWNERS,
    code_version=PERSONAS.code_version,
)
async def personas(context: dg.AssetExecutionContext, recipe: Recipe) -> dg.MaterializeResult[Any]:
    """Draw the unit's personas. Raises dg.Failure with one sentence when the pool cannot give them."""
    workshop: Workshop = context.resources.workshop
    unit = unit_of(context.partition_key, among=units(recipe))
    try:
        drawn = await asyncio.to_thread(draw_unit, recipe, unit)
    except RecipeError as error:
        raise dg.Failure(description=str(error), allow_retries=False) from error
    ref = await asyncio.to_thread(_written, workshop, unit, drawn)
    result = StageResult(ref, Meter(), [persona for _, persona in drawn[:8]], 0.0, len(unit.positions), len(drawn))
    return dg.MaterializeResult(value=ref, data_version=dg.DataVersion(ref.digest[:16]), metadata=metadata(result, FACE))


def _written(workshop: Workshop, unit: Unit, drawn: list[tuple[int, Persona]]) -> SnapshotRef:
    writer = workshop.snapshots.writer("personas", unit=unit.key)
    for start in range(0, len(drawn), workshop.users_per_part):
        writer.add("personas", drawn[start : start + workshop.users_per_part])
    return writer.finish([])
