"""Sensors and a schedule. Those for recipe files, killed commands and work units are on, the others off until switched on."""

import logging
import os
from collections.abc import Iterator, Sequence

import dagster as dg

from assets.engine.recipe_asset import observe_recipe_files
from assets.recipe.partitions import PARTITION_TAG
from pipelines.benchmarks import BENCHMARKS, BenchmarkEntry
from pipelines.jobs import GENERATE_AND_RELEASE, benchmark_jobs, next_phases
from pipelines.opening.dagster_files import cancel_killed_commands

WILL_RETRY = "dagster/will_retry"
ALERT_VARIABLE = "AMEMGYM_ALERT_URL"
ALERT_SECONDS = 10.0  # a sensor that waits longer keeps all others waiting
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


@dg.run_failure_sensor(  # pyright: ignore[reportUnknownMemberType]
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Posts one sentence about every failed run to the webhook whose address is in AMEMGYM_ALERT_URL.",
)
def alert_on_failure(context: dg.RunFailureSensorContext) -> dg.SkipReason | None:
    """Post `{"text": sentence}`, as Slack and Mattermost take it. An address holds a secret, so no message contains it."""
    # Importing the client takes a while, which a process that only shows the graph does not need.
    import httpx2

    from pipelines.network_route import NetworkRoute, NoRoute
    from pipelines.redaction import can_be_taken_apart

    address = os.environ.get(ALERT_VARIABLE, "").strip()
    if not address:
        return dg.SkipReason(f"{ALERT_VARIABLE} is not set where the code location runs.")
    if context.dagster_run.tags.get(WILL_RETRY) == "true":
        return dg.SkipReason("The run's process died, and the run is started again.")
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # at INFO it writes the whole address
    try:
        if not can_be_taken_apart(address):
            raise NoRoute(f"{ALERT_VARIABLE} does not say for sure what its host is")
        options = NetworkRoute.to(address).client_options()
        answer = httpx2.post(address, json={"text": alert_sentence(context)}, timeout=ALERT_SECONDS, **options)
        problem = "" if answer.is_success else f"status {answer.status_code}"
    except NoRoute as error:
        problem = str(error).rstrip(".")
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
        problem = type(error).__name__
    if problem:
        context.log.warning(f"The alert about run {context.dagster_run.run_id} could not be delivered ({problem}).")
    return None


def alert_sentence(context: dg.RunFailureSensorContext) -> str:
    """Say in one line that the run failed, of which variant, and why."""
    run = context.dagster_run
    of = f" of {run.tags[PARTITION_TAG]}" if PARTITION_TAG in run.tags else ""
    reason = context.failure_event.message or "no reason"
    for event in context.get_step_failure_events()[:1]:
        reason = _reason(event)
    return f"Run {run.run_id[:8]} ({run.job_name}{of}) failed: {reason}"


def _reason(event: dg.DagsterEvent) -> str:
    data = event.step_failure_data
    description = data.user_failure_data.description if data.user_failure_data else None
    error = data.error.message.strip().splitlines()[0] if data.error and data.error.message.strip() else ""
    return f"{event.step_key}: {description or error or 'no reason is known'}"


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
    sensors = [recipe_files_changed, killed_commands, release_when_the_report_passes, alert_on_failure]
    split = [entry for entry in BENCHMARKS.values() if entry.benchmark.partitions.is_sharded]
    return [*sensors, follow_units(split)] if split else sensors


SENSORS = _sensors()
SCHEDULES = (demo_every_monday,)
