"""`python -m tests.bench.copies LIVES POOL`: many users without a model, as copies of finished ones under ids of their own.

It runs in the data folder and with the recipes that the environment names. POOL is written, and the work store gets what
every stage made of each copy, so that `amemgym generate copies` finds all work done.
"""

import argparse
import asyncio
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from assets.amemgym.personas.sampling import with_pool_digest
from assets.amemgym.personas.stage import draw_unit
from assets.amemgym.pipeline import STAGES
from assets.amemgym.records.persona import PERSONA_COLUMNS, Persona
from assets.engine.in_flight import Spares
from assets.engine.item_tasks import ItemTasks
from assets.engine.ports import SnapshotRef
from assets.engine.provenance import Provenance
from assets.engine.recipe_asset import with_embedded_model
from assets.engine.serialized_record import serialized_rows
from assets.engine.stage import Stage
from assets.llm.usage import Meter
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.loading import expect_recipe, load_recipe
from assets.recipe.recipe import units
from assets.records.base import ItemRecord
from pipelines.home import Home, home
from pipelines.opening.models import open_run_context
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.resources.storage.open_stores import snapshot_files
from pipelines.resources.storage.snapshots import ParquetSnapshots

LIVES, COPIES = "lives", "copies"
AT_ONCE = 200
DAY = re.compile('"day":"[^"]*"')  # of a change, which follows from the user's id; a copy has none, as data from elsewhere
Originals = Mapping[str, Mapping[str, str]]


def read_originals(place: Home) -> Originals:
    """Return what every stage made of the finished lives, as JSON by stage and user."""
    store = ParquetSnapshots(snapshot_files(place))
    value = open_asset_values(place).find("episodes", LIVES)
    refs: Iterable[SnapshotRef] = value.snapshots[LIVES].values() if isinstance(value, Provenance) else []
    found: dict[str, dict[str, str]] = {}
    for stage in STAGES:
        rows: dict[str, str] = {}
        for ref in refs:
            for record in store.read(ref, stage.name, record=stage.record).values():
                rows[record.item_id] = record.model_dump_json()
        found[stage.name] = rows
    finished = found["episodes"]
    return {name: {user_id: rows[user_id] for user_id in finished} for name, rows in found.items()}


def copied_personas(lives: Originals, *, count: int) -> Iterator[dict[str, object]]:
    """Yield so many rows of a persona pool: those of the lives, by turns, under ids of their own."""
    personas = [Persona.model_validate_json(text) for text in lives["personas"].values()]
    for number in range(count):
        persona = personas[number % len(personas)]
        row: dict[str, object] = {"uuid": f"{persona.user_id}+{number:07d}"}
        row |= {name: getattr(persona, name) for name in PERSONA_COLUMNS[1:]}
        row["persona"] = f"{persona.persona} {number}."  # equal personas are sampled once
        yield row


def copying(stage: Stage[ItemRecord], lives: Originals) -> Stage[ItemRecord]:
    """Return a stage that gives what it once made of a copy's original; its work has the same keys."""

    async def copy(*inputs: ItemRecord, **_: object) -> ItemRecord:
        user_id = inputs[0].item_id
        original = user_id.rpartition("+")[0]  # the life that this is a copy of
        text = lives[stage.name][original].replace(original, user_id)
        return stage.record.model_validate_json(DAY.sub('"day":null', text))

    return replace(stage, make=copy, needs=tuple(copying(need, lives) for need in stage.needs))


async def fill_work_store(place: Home, lives: Originals) -> None:
    """Keep every stage's work of all copies, so that a run finds it."""
    with open_run_context(place) as run_context:
        file = expect_recipe(load_recipe(COPIES), AMemGymRecipe)
        recipe = with_pool_digest(with_embedded_model(file, embedded_model=run_context.embedded_model))
        last = next(copying(stage, lives) for stage in STAGES if stage.name == "episodes")
        for unit in units(recipe):
            drawn = list(draw_unit(recipe, unit))
            for start in range(0, len(unit.items), AT_ONCE):
                part = drawn[start : start + AT_ONCE]
                known = {"personas": dict(serialized_rows(part))}
                tasks = ItemTasks(recipe, run_context, Meter(), "personas", known, Spares(unit), reached=())
                await asyncio.gather(*(tasks.record(last, position) for position, _ in part))


def main() -> None:
    """Write the pool and fill the work store."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lives", type=Path, help="the data folder in which the variant lives was made")
    parser.add_argument("pool", type=Path, help="the Parquet file to write")
    given = parser.parse_args()
    lives = read_originals(Home(given.lives))
    recipe = load_recipe(COPIES)
    personas = list(copied_personas(lives, count=recipe.num_items + 2 * recipe.num_reserve))
    pq.write_table(pa.Table.from_pylist(personas), given.pool)  # pyright: ignore[reportUnknownMemberType]
    asyncio.run(fill_work_store(home(), lives))


if __name__ == "__main__":
    main()
