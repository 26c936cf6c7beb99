"""An item of a benchmark taken through all of its stages in process."""

from typing import Any

from assets.engine.benchmark import Benchmark
from assets.llm.ports import LanguageModel
from assets.recipe.recipe import Recipe
from assets.records.base import ItemRecord


async def make_records(benchmark: Benchmark, item: ItemRecord, *, recipe: Recipe, model: LanguageModel) -> dict[str, Any]:
    """Return the record of every stage, by the stage's name, of an item that was drawn. Raises ItemFailed."""
    first, *stages = benchmark.stages
    records: dict[str, Any] = {first.name: item}
    for stage in stages:
        needed = [records[need.name] for need in stage.needs]
        records[stage.name] = await stage.make(*needed, recipe=recipe, model=model)
    return records
