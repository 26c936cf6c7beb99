"""What of a variant is out of date, and why; nothing that publishes or evaluates is among it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import dagster as dg

# Private imports: Dagster tells what is out of date to its own pages alone.
from dagster._core.definitions.data_version import CachingStaleStatusResolver, StaleCause, StaleCauseCategory, StaleStatus
from dagster._core.loader import LoadingContextForTest

from assets.engine.benchmark import Benchmark
from assets.engine.ports import AssetValues, UnreadableValue
from assets.engine.provenance import Provenance
from pipelines.jobs import GENERATE_AND_RELEASE, RELEASE_ASSETS, Phase, release_phase
from pipelines.resources.storage.file_store import FileStore
from pipelines.resources.storage.io_manager import WITHOUT_VALUE
from pipelines.resources.storage.snapshots import load_ref


@dataclass(frozen=True)
class OutOfDate:
    """An asset of a variant, or of one of its work units, and why it is out of date."""

    asset: str
    partition: str
    why: str


def find_out_of_date(
    instance: dg.DagsterInstance,
    definitions: dg.Definitions,
    benchmark: Benchmark,
    variant: str,
    *,
    values: AssetValues,
    snapshots: FileStore,
) -> list[OutOfDate]:
    """Return the assets of a variant that are out of date, not made or gone, in the order in which they are made."""
    graph = definitions.get_repository_def().asset_graph
    resolver = CachingStaleStatusResolver(instance, graph, LoadingContextForTest(instance))
    found: list[OutOfDate] = []
    for asset, partition in _assets_of(benchmark, variant):
        key = dg.AssetKey(benchmark.asset_key(asset))
        status = resolver.get_status(key, partition)
        if status == StaleStatus.MISSING:
            found.append(OutOfDate(asset, partition, "it is not made yet"))
        elif asset not in map(benchmark.key, WITHOUT_VALUE) and _are_data_gone(asset, partition, values, snapshots):
            found.append(OutOfDate(asset, partition, "its data are gone"))
        elif status == StaleStatus.STALE:
            reasons = [
                _reason(cause, benchmark, partition, values=values) for cause in resolver.get_stale_causes(key, partition)
            ]
            found.append(OutOfDate(asset, partition, ", ".join(dict.fromkeys(reasons))))
    return found


def phases_of(found: Sequence[OutOfDate], benchmark: Benchmark, variant: str) -> Iterator[Phase]:
    """Yield the runs that make what is out of date, and all that is made of it."""
    key = benchmark.key
    stale = {each.asset for each in found}
    stages: list[str] = []
    for name in benchmark.stage_names:
        made_from = {key("recipe"), name, *benchmark.stage(name).ancestors}
        if stale & made_from:
            stages.append(name)
    if not benchmark.partitions.is_sharded:
        recipe = ["recipe"] if key("recipe") in stale else []
        assets = [benchmark.asset_path(name) for name in (*recipe, *stages, *RELEASE_ASSETS)]
        yield Phase(key(GENERATE_AND_RELEASE), variant, assets=assets)
        return
    if key("recipe") in stale:
        yield Phase(key("resolve_recipe"), variant)
    for unit in benchmark.partitions.units[variant] if stages else ():
        yield Phase(key("generate_unit"), unit, assets=[benchmark.asset_path(name) for name in stages])
    yield release_phase(benchmark, variant, config={})


def _assets_of(benchmark: Benchmark, variant: str) -> Iterator[tuple[str, str]]:
    """Yield the assets that make and release a variant, each with its partition."""
    yield benchmark.key("recipe"), variant
    for stage in benchmark.stage_names:
        for unit in benchmark.partitions.units[variant]:
            yield stage, unit
    for name in RELEASE_ASSETS:
        yield benchmark.key(name), variant


def _are_data_gone(asset: str, partition: str, values: AssetValues, snapshots: FileStore) -> bool:
    """Return True where the value or a stage's snapshot is missing or cannot be read; Dagster knows only that it was made."""
    try:
        value = values.find(asset, partition)
    except UnreadableValue:
        return True
    if not isinstance(value, Provenance):
        return value is None
    folders = [ref.failures.path.rpartition("/")[0] for ref in value.stage(asset).values()]
    return any(load_ref(snapshots, folder) is None for folder in folders)


def _reason(cause: StaleCause, benchmark: Benchmark, partition: str, *, values: AssetValues) -> str:
    if cause.category == StaleCauseCategory.CODE:
        return _changed_words(benchmark, cause.key.asset_key.path[-1], partition, values=values)
    above = cause.dependency.asset_key.path[-1] if cause.dependency else ""
    if above == benchmark.key("recipe_file"):
        return "the recipe's file has changed"
    return f"{above} was made again" if above else cause.reason


def _changed_words(benchmark: Benchmark, asset: str, partition: str, *, values: AssetValues) -> str:
    """Return what has changed of a stage: its prompts by name, or its code."""
    value = values.find(asset, partition)
    if asset not in benchmark.stage_names or not isinstance(value, Provenance):
        return "its code has changed"
    before = value.snapshots[partition][asset].prompts
    changed = [name for name, words in benchmark.stage(asset).prompt_fingerprints.items() if before.get(name) != words]
    return f"the prompt {', '.join(changed)} has changed" if changed else "its code has changed"
