"""Refuses at launch what no run could make: no partition, a recipe that cannot be, a version that is none."""

from typing import Any, cast

import dagster as dg
from dagster._core.events import RunFailureReason
from dagster._core.run_coordinator import QueuedRunCoordinator, SubmitRunContext
from dagster._core.storage.tags import RUN_FAILURE_REASON_TAG

from assets.engine.overrides import lay_overrides
from assets.engine.recipe_asset import check_units
from assets.recipe.loading import RecipeError, load_recipe
from assets.recipe.partitions import PARTITION_TAG
from dataset_card.release.folder import check_version
from dataset_card.release.manifest import ReleaseError
from pipelines.benchmarks import BENCHMARKS
from pipelines.home import home
from pipelines.jobs import JOBS
from pipelines.resources.storage.io_manager import open_asset_values

PARTITION_TAGS = (PARTITION_TAG, "dagster/asset_partition_range_start")
OUR_JOBS = frozenset(job.name for job in JOBS)
OUR_ASSETS = frozenset(
    name
    for benchmark in (entry.benchmark for entry in BENCHMARKS)
    for name in (*benchmark.stage_names, *map(benchmark.key, ("recipe", "quality_report", "release", "hub_release")))
)


class CheckingRunCoordinator(QueuedRunCoordinator):
    """Dagster's queue of runs. A run that is refused counts as failed, and nothing of it is executed."""

    def submit_run(self, context: SubmitRunContext) -> dg.DagsterRun:
        """Raises RecipeError or ReleaseError, which Dagster shows to whoever launches."""
        try:
            check_run(context.dagster_run)
        except (RecipeError, ReleaseError):
            # Otherwise Dagster takes it for a run whose process died, and launches it again as often as it retries those.
            not_again = {RUN_FAILURE_REASON_TAG: RunFailureReason.STEP_FAILURE.value}
            self._instance.add_run_tags(context.dagster_run.run_id, not_again)
            raise
        return super().submit_run(context)


def check_run(run: dg.DagsterRun) -> None:
    """Raise RecipeError or ReleaseError with one sentence for a run that cannot end well. Runs of other code pass."""
    assets = {key.to_user_string() for key in run.asset_selection or ()}
    if run.job_name not in OUR_JOBS and not assets & OUR_ASSETS:
        return
    if not any(tag in run.tags for tag in PARTITION_TAGS):
        raise RecipeError("This run has no partition, so it is not told what to make; launch it for one, such as demo.")
    for benchmark in (entry.benchmark for entry in BENCHMARKS):
        recipe, variant = benchmark.key("recipe"), run.tags.get(PARTITION_TAG, "")
        check_version(_config(run, benchmark.key("release")).get("version", "auto"))
        given = _config(run, recipe)
        if given and variant in benchmark.partitions.units:
            overrides = lay_overrides(open_asset_values(home()), recipe, variant, given=given)
            check_units(load_recipe(variant, overrides.fields), benchmark)


def _config(run: dg.DagsterRun, asset: str) -> dict[str, Any]:
    ops: dict[str, Any] = cast(dict[str, Any], run.run_config).get("ops", {})
    return ops.get(asset, {}).get("config", {})
