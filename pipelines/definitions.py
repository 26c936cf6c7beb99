"""The one assembly point: reading it tells everything that Dagster knows of this project."""

import logging
import os
from pathlib import Path

import dagster as dg

from assets.engine.ports import VALUES
from assets.engine.recipe_asset import recipe_asset, recipe_file
from assets.engine.stage_asset import stage_assets
from assets.recipe.partitions import BENCHMARK_TAG
from dataset_card.hub.asset import hub_release_asset, release_checks
from dataset_card.release_store.asset import release_asset
from pipelines.automation import SCHEDULES, SENSORS
from pipelines.benchmarks import BENCHMARKS, BenchmarkEntry
from pipelines.evaluation_assets import evaluation_asset, evaluation_check
from pipelines.home import SERVES_PAGES, home
from pipelines.jobs import benchmark_jobs
from pipelines.opening.dagster_resources import configured_resources
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.reward.asset import reward_rows_asset
from validation.checks import benchmark_checks
from validation.report.asset import report_asset

OWN = Path(__file__).with_name("defs")
LOG = logging.getLogger(__name__)


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
    # Nothing is there as the project comes, and looking for components takes a tenth of a second.
    if not any(path.suffix != ".pyc" and path.name not in ("__init__.py", "__pycache__") for path in OWN.iterdir()):
        return dg.Definitions()
    return dg.load_from_defs_folder(path_within_project=OWN)


def warn_of_plain_server() -> None:
    """Warn whoever starts `dg dev` or `dagster dev`: it serves no pages of ours, and may be without our storage.

    Ours keeps what was run, and limits runs at once.
    """
    if not os.environ.get("DAGSTER_IS_DEV_CLI") or os.environ.get(SERVES_PAGES):
        return
    storage = ""
    if not os.environ.get("DAGSTER_HOME"):
        storage = (
            "DAGSTER_HOME is not set: runs, schedules and sensors of this session are forgotten at its end, and any number "
            f"of runs goes at once. To keep them, set it to the folder that `amemgym ui` makes, {home().dagster}. "
        )
    LOG.warning(
        f"{storage}This server has no page under /pages, where reports, releases and evaluations are shown. "
        "Start `amemgym ui` in its place."
    )


warn_of_plain_server()
defs = dg.Definitions.merge(
    *map(benchmark_definitions, BENCHMARKS),
    own_definitions(),
    dg.Definitions(
        assets=[reward_rows_asset([entry.benchmark.key("evaluation") for entry in BENCHMARKS])],
        sensors=list(SENSORS),
        schedules=list(SCHEDULES),
        resources={
            **configured_resources(),
            VALUES: open_asset_values(home()),
        },
        # No interpreter is started per step; the stages of a run share one event loop.
        executor=dg.in_process_executor,
    ),
)
