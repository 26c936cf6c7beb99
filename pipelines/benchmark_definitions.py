"""What Dagster knows of each benchmark: its assets, checks and jobs, with the resources that every run has."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

import dagster as dg

from assets.engine.ports import VALUES
from assets.engine.recipe_asset import recipe_asset, recipe_file
from assets.engine.stage_asset import stage_assets
from assets.recipe.partitions import BENCHMARK_TAG
from dataset_card.hub.asset import hub_release_asset, release_checks
from dataset_card.release_store.asset import release_asset
from pipelines.benchmarks import BENCHMARKS, BenchmarkEntry
from pipelines.evaluation_assets import evaluation_asset, evaluation_check
from pipelines.home import home
from pipelines.jobs import benchmark_jobs
from pipelines.opening.dagster_resources import configured_resources
from pipelines.resources.storage.io_manager import open_asset_values
from validation.checks import benchmark_checks
from validation.report.asset import report_asset

OWN = Path(__file__).with_name("defs")


@cache
def definitions_of(entry: BenchmarkEntry) -> dg.Definitions:
    """Return what one benchmark's jobs need. Others are not imported, unless `pipelines/defs` holds what may name any."""
    return merge_definitions(BENCHMARKS.values() if _has_own() else [entry])


def merge_definitions(entries: Iterable[BenchmarkEntry]) -> dg.Definitions:
    """Return the definitions of these benchmarks and of `pipelines/defs`, with the resources and the executor of all."""
    return dg.Definitions.merge(
        *map(benchmark_definitions, entries),
        own_definitions(),
        dg.Definitions(
            resources={
                **configured_resources(),
                VALUES: open_asset_values(home()),
            },
            # No interpreter is started per step; the stages of a run share one event loop.
            executor=dg.in_process_executor,
        ),
    )


def assets_of(entry: BenchmarkEntry) -> list[dg.AssetsDefinition | dg.AssetSpec]:
    """All assets of a benchmark, with its name as their tag: only they have its partitions, so they are selected together."""
    benchmark = entry.benchmark
    assets = (
        recipe_file(benchmark),
        recipe_asset(benchmark),
        *stage_assets(benchmark),
        report_asset(entry.validation),
        release_asset(entry.release),
        hub_release_asset(entry.release),
    )
    return list(dg.map_asset_specs(lambda spec: spec.merge_attributes(tags={BENCHMARK_TAG: benchmark.name}), assets))


def benchmark_definitions(entry: BenchmarkEntry) -> dg.Definitions:
    """Return all that Dagster knows of a benchmark: its assets, their checks, and the jobs that make them."""
    benchmark = entry.benchmark
    return dg.Definitions(
        assets=[*assets_of(entry), evaluation_asset(benchmark, asks=entry.asks)],
        asset_checks=[
            *benchmark_checks(entry.validation),
            *release_checks(benchmark),
            evaluation_check(benchmark),
        ],
        jobs=benchmark_jobs(entry),
    )


def own_definitions() -> dg.Definitions:
    """Return what was put into `pipelines/defs`: Python modules, and components of Dagster in YAML."""
    # Looking for components takes a tenth of a second.
    return dg.load_from_defs_folder(path_within_project=OWN) if _has_own() else dg.Definitions()


def _has_own() -> bool:
    """Return whether anything was put into `pipelines/defs`; nothing is there as the project comes."""
    return any(path.suffix != ".pyc" and path.name not in ("__init__.py", "__pycache__") for path in OWN.iterdir())
