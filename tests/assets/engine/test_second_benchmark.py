"""A second benchmark of two toy stages and one that draws: native assets with snapshots, a gate and a replaced item."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dagster as dg

from assets.engine.benchmark import Benchmark
from assets.engine.ports import SnapshotRef
from assets.engine.stage import Stage
from assets.engine.stage_asset import stage_assets
from assets.llm.ports import LanguageModel
from assets.recipe.loading import Unit
from assets.recipe.partitions import VARIANT_PARTITIONS
from assets.recipe.recipe import Recipe
from assets.records.base import ItemFailed, UserRecord
from pipelines.resources.storage.io_manager import RecordIOManager
from tests.support.run_contexts import run_context
from tests.support.scripted_model import ScriptedModel
from tests.support.small import small_recipe


class Number(UserRecord):
    """A number to be doubled."""

    value: int


def draw(recipe: Recipe, unit: Unit) -> Iterator[tuple[int, Number]]:
    return ((position, Number(user_id=f"number-{position}", value=position)) for position in unit.positions)


async def double(number: Number, *, recipe: Recipe, model: LanguageModel) -> Number:
    return number.model_copy(update={"value": 2 * number.value})


async def is_no_two(doubled: Number, *, recipe: Recipe, model: LanguageModel) -> Number:
    """The gate, which lets every number pass but 2."""
    if doubled.value == 2:
        raise ItemFailed("gate_exhausted", "The number is 2.")
    return doubled


NUMBERS = Stage(name="numbers", record=Number, draw=draw)
DOUBLES = Stage(name="doubles", record=Number, make=double, needs=(NUMBERS,))
FINISHED = Stage(name="finished_numbers", record=Number, make=is_no_two, needs=(DOUBLES,))
ARITHMETIC = Benchmark(name="arithmetic", noun="number", recipe=Recipe, stages=(FINISHED, NUMBERS, DOUBLES))


@dg.asset(partitions_def=VARIANT_PARTITIONS)
def recipe() -> Recipe:
    return small_recipe(variant="demo", num_users=2, num_reserve=1)


def materialized(folder: Path) -> tuple[dg.ExecuteInProcessResult, dict[str, dict[int, int]]]:
    """The run, and the values of each stage's snapshot by position."""
    context = run_context(folder / "snapshots", ScriptedModel())
    values = RecordIOManager(folder / "values")
    resources: dict[str, Any] = {"run_context": context, "io_manager": values}
    result = dg.materialize([recipe, *stage_assets(ARITHMETIC)], partition_key="demo", resources=resources)
    found: dict[str, dict[int, int]] = {}
    for stage in ARITHMETIC.stages:
        ref = values.find(stage.name, "demo")
        assert isinstance(ref, SnapshotRef)
        rows = context.snapshots.read(ref, stage.name, record=Number)
        found[stage.name] = {position: row.value for position, row in rows.items()}
    return result, found


def test_stages_are_made_in_order_and_an_item_that_fails_the_gate_is_replaced_from_the_reserve(tmp_path: Path) -> None:
    result, values = materialized(tmp_path)
    assert result.success
    assert values == {"numbers": {0: 0, 1: 1, 2: 2}, "doubles": {0: 0, 1: 2}, "finished_numbers": {0: 0, 2: 4}}


def test_the_materialization_counts_items_and_names_the_one_that_was_replaced(tmp_path: Path) -> None:
    result, _ = materialized(tmp_path)
    (event,) = result.asset_materializations_for_node("finished_numbers")
    assert event.metadata["dagster/row_count"].value == 2
    assert "number-1" in str(event.metadata["replaced"].value)
    assert "The number is 2." in str(event.metadata["replaced"].value)


def test_the_assets_have_their_direct_predecessors_and_the_benchmarks_group() -> None:
    specs = {spec.key.to_user_string(): spec for asset in stage_assets(ARITHMETIC) for spec in asset.specs}
    parents = {name: {dep.asset_key.to_user_string() for dep in spec.deps} for name, spec in specs.items()}
    assert parents == {
        "numbers": {"recipe"},
        "doubles": {"recipe", "numbers"},
        "finished_numbers": {"recipe", "numbers", "doubles"},
    }
    assert {spec.group_name for spec in specs.values()} == {"1_items"}
