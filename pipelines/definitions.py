"""The one assembly point: reading it tells everything that Dagster knows of this project."""

import dagster as dg

from assets.engine.stage_asset import stage_assets
from assets.recipe.asset import recipe
from dataset_card.hub.asset import hub_release_asset
from dataset_card.release.asset import release_asset
from dataset_card.release.checks import release_checks
from pipelines.automation import SCHEDULES, SENSORS
from pipelines.benchmarks import BENCHMARKS
from pipelines.evaluation_assets import answers_scored, evaluation
from pipelines.home import home
from pipelines.jobs import JOBS
from pipelines.resources.dagster_resources import PublisherResource, ReleaseStoreResource, ReportFolder, RunContextResource
from pipelines.resources.storage.io_manager import RecordIOManager
from pipelines.resources.storage.open_stores import value_files
from validation.amemgym.personas import pool_is_unchanged
from validation.checks import benchmark_checks
from validation.report.asset import report_asset

defs = dg.Definitions(
    assets=[
        recipe,
        *(asset for entry in BENCHMARKS for asset in stage_assets(entry.benchmark)),
        *(report_asset(entry.validation) for entry in BENCHMARKS),
        *(asset(entry.release) for entry in BENCHMARKS for asset in (release_asset, hub_release_asset)),
        evaluation,
    ],
    asset_checks=[
        *(check for entry in BENCHMARKS for check in benchmark_checks(entry.validation)),
        *(check for entry in BENCHMARKS for check in release_checks(entry.benchmark)),
        pool_is_unchanged,
        answers_scored,
    ],
    jobs=list(JOBS),
    sensors=list(SENSORS),
    schedules=list(SCHEDULES),
    resources={
        "run_context": RunContextResource(),
        "releases": ReleaseStoreResource(),
        "reports": ReportFolder(),
        "publisher": PublisherResource(),
        "io_manager": RecordIOManager(value_files(home())),
    },
    # No interpreter is started per step; the stages of a run share one event loop.
    executor=dg.in_process_executor,
)
