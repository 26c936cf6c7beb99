"""A run is given up when workers answer and none has it, and never because nobody answers."""

from typing import Any

import dagster as dg
from dagster._core.launcher import WorkerStatus
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

from pipelines.cluster.run_launcher import MAX_MISSED_CHECKS, WorkerCheckingRunLauncher
from tests.cluster.servers import Cluster


def test_a_run_is_not_lost_while_no_worker_can_be_heard(servers: Cluster) -> None:
    launcher = WorkerCheckingRunLauncher(
        default_queue="dagster", broker=servers.broker, backend=servers.broker, config_source={}
    )
    run = dg.DagsterRun(job_name="generate_unit", tags={DAGSTER_CELERY_TASK_ID_TAG: "task"})
    celery: Any = launcher.celery  # has no types
    celery.backend.store_result("task", None, "STARTED")
    told = {launcher.check_run_worker_health(run).status for _ in range(2 * MAX_MISSED_CHECKS)}
    assert told == {WorkerStatus.RUNNING}
