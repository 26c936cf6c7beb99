"""The one assembly point: reading it tells everything that Dagster knows of this project."""

import dagster as dg

from assets.engine.ports import VALUES
from assets.engine.recipe_asset import recipe_asset, recipe_file
from assets.engine.stage_asset import stage_assets
from assets.recipe.partitions import BENCHMARK_TAG
from dataset_card.hub.asset import hub_release_asset
from dataset_card.release.asset import release_asset
from dataset_card.release.checks import release_checks
from pipelines.automation import SCHEDULES, SENSORS
from pipelines.benchmarks import BENCHMARKS, BenchmarkEntry
from pipelines.evaluation_assets import evaluation_asset, evaluation_check
from pipelines.home import home
from pipelines.jobs import JOBS
from pipelines.resources.dagster_resources import configured_resources
from pipelines.resources.storage.io_manager import open_asset_values
from validation.amemgym.personas import pool_is_unchanged
from validation.checks import benchmark_checks
from validation.code_qa.sources import packages_are_unchanged
from validation.deep_research.worlds import documents_are_unchanged
from validation.report.asset import report_asset


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


defs = dg.Definitions(
    assets=[
        *(asset for entry in BENCHMARKS for asset in assets_of(entry)),
        *(evaluation_asset(entry.benchmark) for entry in BENCHMARKS),
    ],
    asset_checks=[
        *(check for entry in BENCHMARKS for check in benchmark_checks(entry.validation)),
        *(check for entry in BENCHMARKS for check in release_checks(entry.benchmark)),
        pool_is_unchanged,
        documents_are_unchanged,
        packages_are_unchanged,
        *(evaluation_check(entry.benchmark) for entry in BENCHMARKS),
    ],
    jobs=list(JOBS),
    sensors=list(SENSORS),
    schedules=list(SCHEDULES),
    resources={
        **configured_resources(),
        VALUES: open_asset_values(home()),
    },
    # No interpreter is started per step; the stages of a run share one event loop.
    executor=dg.in_process_executor,
)
