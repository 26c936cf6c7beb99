"""The Celery app of a worker: `celery -A pipelines.cluster.worker worker -Q dagster -c 2`."""

import logging
import os
from typing import Any

import dagster_celery.make_app
import dagster_celery.tasks

from pipelines.errors import Problem
from pipelines.redaction import login_is_unsure
from pipelines.resources.llm.settings import runs_at_once

VARIABLE = "AMEMGYM_BROKER"
# Acknowledging late and rejecting what a lost worker had must stay off: a run delivered twice says it succeeded, and hangs.
SETTINGS: dict[str, object] = {
    "worker_prefetch_multiplier": 1,
    "worker_disable_prefetch": True,  # a run that a worker had fetched and not begun would die with it
    "worker_max_tasks_per_child": 50,
    "worker_hijack_root_logger": False,
    "broker_connection_retry_on_startup": True,
    "result_expires": 30 * 86_400,  # after that, a run that still lasts would look like a lost one
}

BROKER = os.environ.get(VARIABLE, "").strip()
if not BROKER:
    raise SystemExit(f"{VARIABLE} is not set; give the address of the broker that all share, as in redis://host:6379/0.")
if any(map(login_is_unsure, BROKER.split(";"))):
    raise SystemExit(f"{VARIABLE} cannot be read as an address; in a password write %40 for @ and %2F for /.")
try:
    runs_at_once()
except Problem as problem:
    raise SystemExit(str(problem)) from problem
# At INFO, where Celery's own lines are, the client writes every call's whole address, and an address may hold a secret.
logging.getLogger("httpx2").setLevel(logging.WARNING)

making: Any = dagster_celery.make_app  # these two have no complete types
tasks: Any = dagster_celery.tasks

app = making.make_app({"broker": BROKER, "backend": BROKER, "config_source": SETTINGS})
execute_job = tasks.create_execute_job_task(app)
resume_job = tasks.create_resume_job_task(app)
