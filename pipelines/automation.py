"""Sensors and a schedule that Dagster runs once somebody switches them on under Automation; all are off at first."""

import logging
import os

import dagster as dg

from assets.recipe.partitions import SHARDED, UNITS
from pipelines.jobs import FREEZE, RELEASE, REPORT, WHOLE

PARTITION = "dagster/partition"
WILL_RETRY = "dagster/will_retry"
ALERT_VARIABLE = "AMEMGYM_ALERT_URL"
ALERT_SECONDS = 10.0
CANARY = "demo"


@dg.run_status_sensor(  # pyright: ignore[reportUnknownMemberType]
    run_status=dg.DagsterRunStatus.SUCCESS,
    request_job=FREEZE,
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Freezes a variant into a release as soon as a run has made its quality report and no blocking check failed.",
)
def release_when_the_report_passes(context: dg.RunStatusSensorContext) -> dg.RunRequest | dg.SkipReason:
    """A run succeeds only if all blocking checks in it passed, so a report whose checks ran in it has passed."""
    run_id = context.dagster_run.run_id
    made = _assets(context, dg.DagsterEventType.ASSET_MATERIALIZATION)
    checked = _assets(context, dg.DagsterEventType.ASSET_CHECK_EVALUATION)
    if not made.issuperset(REPORT):
        return dg.SkipReason(f"Run {run_id} made no quality report.")
    if not checked.issuperset(REPORT):
        return dg.SkipReason(f"Run {run_id} left out the checks of its quality report.")
    if made.intersection(RELEASE):
        return dg.SkipReason(f"Run {run_id} wrote the release itself.")
    variant = context.dagster_run.tags[PARTITION]
    if variant not in UNITS:
        return dg.SkipReason(f"The recipe of {variant!r}, which run {run_id} made, is no longer there.")
    return dg.RunRequest(run_key=run_id, partition_key=variant)


def _assets(context: dg.RunStatusSensorContext, kind: dg.DagsterEventType) -> set[str]:
    """The assets that events of this kind in the run are about."""
    records = context.instance.get_records_for_run(context.dagster_run.run_id, of_type=kind).records
    return {key.to_user_string() for record in records if (key := _asset_of(record.event_log_entry.get_dagster_event()))}


def _asset_of(event: dg.DagsterEvent) -> dg.AssetKey | None:
    if event.event_type is dg.DagsterEventType.ASSET_CHECK_EVALUATION:
        return event.asset_check_evaluation_data.asset_key
    return event.asset_key


@dg.run_failure_sensor(  # pyright: ignore[reportUnknownMemberType]
    default_status=dg.DefaultSensorStatus.STOPPED,
    description="Posts one sentence about every failed run to the webhook whose address is in AMEMGYM_ALERT_URL.",
)
def alert_on_failure(context: dg.RunFailureSensorContext) -> dg.SkipReason | None:
    """Post `{"text": sentence}`, as Slack and Mattermost take it. An address holds a secret, so no message contains it."""
    # Importing the client takes a while, which a process that only shows the graph does not need.
    import httpx2

    address = os.environ.get(ALERT_VARIABLE, "").strip()
    if not address:
        return dg.SkipReason(f"{ALERT_VARIABLE} is not set where the code location runs.")
    if context.dagster_run.tags.get(WILL_RETRY) == "true":
        return dg.SkipReason("The run's process died, and the run is started again.")
    logging.getLogger("httpx2").setLevel(logging.WARNING)  # at INFO it writes the whole address
    try:
        answer = httpx2.post(address, json={"text": alert_sentence(context)}, timeout=ALERT_SECONDS)
        problem = "" if answer.is_success else f"status {answer.status_code}"
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.UnsupportedProtocol) as error:
        problem = type(error).__name__
    if problem:
        context.log.warning(f"The alert about run {context.dagster_run.run_id} could not be delivered ({problem}).")
    return None


def alert_sentence(context: dg.RunFailureSensorContext) -> str:
    """Which run failed, of which variant, and why, in one line."""
    run = context.dagster_run
    of = f" of {run.tags[PARTITION]}" if PARTITION in run.tags else ""
    reasons = [_reason(event) for event in context.get_step_failure_events()]
    return (
        f"Run {run.run_id[:8]} ({run.job_name}{of}) failed: {next(iter(reasons), context.failure_event.message or 'no reason')}"
    )


def _reason(event: dg.DagsterEvent) -> str:
    data = event.step_failure_data
    description = data.user_failure_data.description if data.user_failure_data else None
    error = data.error.message.strip().splitlines()[0] if data.error and data.error.message.strip() else ""
    return f"{event.step_key}: {description or error or 'no reason is known'}"


@dg.schedule(  # pyright: ignore[reportUnknownMemberType]
    job=WHOLE[-1],
    cron_schedule="0 6 * * 1",
    execution_timezone="UTC",
    default_status=dg.DefaultScheduleStatus.STOPPED,
    description=f"The variant {CANARY!r} from end to end, Mondays at 6:00 UTC: an example of a schedule.",
)
def demo_every_monday(_: dg.ScheduleEvaluationContext) -> dg.RunRequest:
    """The small variant, so that a broken endpoint or disk shows before it is needed."""
    return dg.RunRequest(partition_key=CANARY)


SENSORS = (release_when_the_report_passes, alert_on_failure)
# Where recipes are split into work units, there is no one job that makes a variant.
SCHEDULES = () if SHARDED else (demo_every_monday,)
