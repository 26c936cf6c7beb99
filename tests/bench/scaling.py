"""`python -m tests.bench.scaling [USERS ...]`: time and memory of making many users, the model's work left out.

Forty users of demo's shape are made once by the embedded model, 300 and 3000 users by default are copies of them under ids
of their own. The work store gets what every stage made of each copy. Then `amemgym generate` runs in a process of its own:
it samples, finds the stages' work, writes snapshots, checks, reports and releases, and asks no model. What it takes is
the pipeline's own share. CPU seconds count, because other programs may be busy too.
"""

import argparse
import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from math import log
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from assets.amemgym.personas.sampling import with_pool_digest
from assets.amemgym.personas.stage import draw_unit
from assets.amemgym.pipeline import STAGES
from assets.amemgym.recipe import AMemGymRecipe
from assets.amemgym.records.persona import PERSONA_COLUMNS, Persona
from assets.engine.item_tasks import ItemTasks
from assets.engine.ports import SnapshotRef
from assets.engine.provenance import Provenance
from assets.engine.recipe_asset import with_embedded_model
from assets.engine.serialized_record import serialized_rows
from assets.engine.stage import Stage
from assets.llm.usage import Meter
from assets.recipe.loading import expect_recipe, load_recipe, units
from assets.records.base import ItemRecord
from pipelines.home import Home, home
from pipelines.resources.open import open_run_context
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.resources.storage.open_stores import snapshot_files
from pipelines.resources.storage.snapshots import ParquetSnapshots
from tests.support.commands import clean_environment

LIVES, COPIES = 40, "copies"
AT_ONCE = 200
DEMO = Path(__file__).parents[2] / "pipelines" / "recipes" / "demo.yaml"
Originals = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Taken:
    """What a process took: seconds on a core, peak memory in MB."""

    users: int
    seconds: float
    megabytes: float


def written_recipe(folder: Path, name: str, **fields: object) -> None:
    """A recipe of demo's shape, alone in a folder of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    recipe = {**yaml.safe_load(DEMO.read_text(encoding="utf-8")), **fields}
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(recipe), encoding="utf-8")


def process(place: Home, recipes: Path, *line: str) -> tuple[float, float]:
    """Run a module in a process of its own; CPU seconds and peak MB."""
    environment = clean_environment(place.root, AMEMGYM_RECIPES=str(recipes))
    running = subprocess.Popen([sys.executable, "-m", *line], env=environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(running.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0, f"{' '.join(line)} did not end well"
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def originals(place: Home) -> Originals:
    """What every stage made of the finished lives, as JSON by stage and user."""
    store, value = ParquetSnapshots(snapshot_files(place)), open_asset_values(place).find("episodes", "lives")
    refs: Iterable[SnapshotRef] = value.snapshots["lives"].values() if isinstance(value, Provenance) else []
    found: Originals = {}
    for stage in STAGES:
        rows: list[Any] = [one for ref in refs for one in store.read(ref, stage.name, record=stage.record).values()]
        found[stage.name] = {one.user_id: one.model_dump_json() for one in rows}
    return {name: {user: rows[user] for user in found["episodes"]} for name, rows in found.items()}


def original_of(user_id: str) -> str:
    return user_id.rpartition("+")[0]


def copied_pool(path: Path, lives: Originals, *, count: int) -> None:
    """So many personas: those of the lives, by turns, under ids of their own."""
    personas = [Persona.model_validate_json(one).model_dump() for one in lives["personas"].values()]
    fields = [{"uuid": one.pop("user_id"), **{name: one[name] for name in PERSONA_COLUMNS[1:]}} for one in personas]
    copies = (
        {
            **(one := fields[number % len(fields)]),
            "uuid": f"{one['uuid']}+{number:07d}",
            "persona": f"{one['persona']} {number}.",
        }
        for number in range(count)
    )
    writer: Any = None
    while rows := list(islice(copies, 10_000)):
        table = pa.Table.from_pylist(rows)
        writer = writer or pq.ParquetWriter(path, table.schema, compression="zstd")
        writer.write_table(table)
    writer.close()


def copying(stage: Stage[ItemRecord], lives: Originals) -> Stage[ItemRecord]:
    """The stage, giving what it once made of a copy's original; its work has the same keys."""

    async def copy(*inputs: ItemRecord, **_: object) -> ItemRecord:
        user_id = inputs[0].item_id
        return stage.record.model_validate_json(lives[stage.name][original_of(user_id)].replace(original_of(user_id), user_id))

    return replace(stage, make=copy, needs=tuple(copying(need, lives) for need in stage.needs))


async def fill(place: Home, lives: Originals) -> None:
    """Keep every stage's work of all copies, so that a run finds it."""
    with open_run_context(place) as shop:
        file = with_embedded_model(expect_recipe(load_recipe(COPIES), AMemGymRecipe), embedded_model=shop.embedded_model)
        recipe = with_pool_digest(file)
        stages = [copying(stage, lives) for stage in STAGES if stage.name == "episodes"]
        for unit in units(recipe):
            drawn = list(draw_unit(recipe, unit))
            for start in range(0, len(unit.items), AT_ONCE):
                part = drawn[start : start + AT_ONCE]
                tasks = ItemTasks(recipe, shop, Meter(), "personas", {"personas": dict(serialized_rows(part))})
                await asyncio.gather(*(tasks.record(stages[0], position) for position, _ in part))


def prepare(folder: Path, users: int, *, per_shard: int | None) -> tuple[Home, Path]:
    """Everything that a run over so many copies starts from: its data folder and its recipe."""
    place, recipes, pool = Home(folder / f"home-{users}"), folder / f"recipes-{users}", folder / f"pool-{users}.parquet"
    counts = {"num_users": users, "num_reserve": users // 10, "users_per_shard": per_shard}
    written_recipe(recipes, COPIES, **counts, pool={"paths": [str(pool)]})
    if not place.root.exists():
        process(place, recipes, "tests.bench.scaling", "--fill", str(folder / "lives"), str(pool))
    return place, recipes


def filled(place: Home, *, source: Home, pool: Path) -> None:
    """In a process of its own: the pool of copies, and every stage's work of each."""
    lives = originals(source)
    recipe = load_recipe(COPIES)
    copied_pool(pool, lives, count=recipe.num_items + 2 * recipe.num_reserve)
    asyncio.run(fill(place, lives))


def kilobytes(place: Home, users: int) -> dict[str, float]:
    """What lies on the disk, by the name of the file or folder at the top, per user."""
    sizes = {
        top: sum(one.stat().st_size for one in (top.rglob("*") if top.is_dir() else [top])) for top in place.root.iterdir()
    }
    return {top.name: size / 1000 / users for top, size in sorted(sizes.items())}


def main(sizes: list[int], *, folder: Path, per_shard: int | None) -> None:
    written_recipe(folder / "recipes", "lives", num_users=LIVES, num_reserve=10)
    if not (folder / "lives").exists():
        process(Home(folder / "lives"), folder / "recipes", "pipelines", "generate", "lives")
    found: list[Taken] = []
    for users in sizes:
        place, recipes = prepare(folder, users, per_shard=per_shard)
        found.append(Taken(users, *process(place, recipes, "pipelines", "generate", COPIES)))
        print(f"{users} users: {found[-1].seconds:.1f} s on a core, peak {found[-1].megabytes:.0f} MB", flush=True)
        print("  KB per user:", ", ".join(f"{name} {size:.1f}" for name, size in kilobytes(place, users).items()), flush=True)
    for few, many in pairwise(found):
        more = (many.users - few.users) / 1000
        print(f"a user more: {(many.seconds - few.seconds) / more:.1f} ms, {(many.megabytes - few.megabytes) / more:.1f} KB")
        print(f"exponent of time: {log(many.seconds / few.seconds) / log(many.users / few.users):.2f}")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", type=int, default=[300, 3000])
    parser.add_argument("--keep", type=Path, help="a folder for all that is made, which a later call goes on with")
    parser.add_argument("--users-per-shard", type=int)
    parser.add_argument("--fill", nargs=2, type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments()
    if given.fill:
        filled(home(), source=Home(given.fill[0]), pool=given.fill[1])
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(given.sizes, folder=given.keep or Path(temporary), per_shard=given.users_per_shard)
