"""Sensors and a schedule. Those for recipe files, killed commands and work units are on, the others off until switched on."""

from collections.abc import Iterator, Sequence

import dagster as dg

from assets.engine.recipe_asset import observe_recipe_files
from pipelines.benchmarks import BENCHMARKS, BenchmarkEntry
from pipelines.jobs import GENERATE_AND_RELEASE, benchmark_jobs, next_phases
from pipelines.opening.dagster_files import cancel_killed_commands

CANARY = "demo"


release_when_the_report_passes = dg.AutomationConditionSensorDefinition(
    "release_when_the_report_passes",
    target=dg.AssetSelection.assets(
        *(entry.benchmark.asset_key("dataset_card") for entry in BENCHMARKS.values()),
        *(entry.benchmark.asset_key("release") for entry in BENCHMARKS.values()),
    ),
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Releases a variant as soon as its quality report is made and no blocking check of it failed.",
)


@dg.schedule(  # pyright: ignore[reportUnknownMemberType]
    job_name=GENERATE_AND_RELEASE,
    cron_schedule="0 6 * * 1",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description=f"The variant {CANARY!r} from end to end, Mondays at 6:00 UTC: an example of a schedule.",
)
def demo_every_monday(_: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    """The small variant, so that a broken endpoint or disk shows before it is needed."""
    return dg.RunRequest(partition_key=CANARY)


@dg.sensor(  # pyright: ignore[reportUnknownMemberType]
    name="recipe_files_changed",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Looks at the recipe files, so that the recipe of an edited one shows as out of date. Starts no run.",
)
def recipe_files_changed(context: dg.SensorEvaluationContext) -> dg.SkipReason:
    """Say which files say something else than before."""
    changed: list[str] = []
    for entry in BENCHMARKS.values():
        changed += observe_recipe_files(context.instance, entry.benchmark)
    return dg.SkipReason(f"Changed: {', '.join(changed)}." if changed else "No recipe file has changed.")


@dg.sensor(  # pyright: ignore[reportUnknownMemberType]
    name="killed_commands",
    minimum_interval_seconds=30,
    default_status=dg.DefaultSensorStatus.RUNNING,
    description="Cancels runs whose command was killed, so that no other run waits for them. Starts no run.",
)
def killed_commands(context: dg.SensorEvaluationContext) -> dg.SkipReason:
    """Say which runs were cancelled."""
    return dg.SkipReason(" ".join(cancel_killed_commands(context.instance)) or "No command was killed.")


def follow_units(entries: Sequence[BenchmarkEntry]) -> dg.SensorDefinition:
    """Return the sensor that goes on with variants of these benchmarks that are split into work units."""

    @dg.run_status_sensor(  # pyright: ignore[reportUnknownMemberType]
        run_status=dg.DagsterRunStatus.SUCCESS,
        name="units_then_release",
        request_jobs=[job for entry in entries for job in benchmark_jobs(entry)],
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Goes on with a variant that was begun in several work units: launches all units, then report and release.",
    )
    def units_then_release(context: dg.RunStatusSensorContext) -> Iterator[dg.RunRequest]:
        for entry in entries:
            yield from next_phases(entry, context.dagster_run, context.instance)

    return units_then_release


def _sensors() -> list[dg.SensorDefinition]:
    sensors = [recipe_files_changed, killed_commands, release_when_the_report_passes]
    split = [entry for entry in BENCHMARKS.values() if entry.benchmark.partitions.is_sharded]
    return [*sensors, follow_units(split)] if split else sensors


SENSORS = _sensors()
SCHEDULES = (demo_every_monday,)
