"""Celery's launcher, and a look at whether somebody is still at the run."""

import time
from collections.abc import Mapping
from typing import Any

import dagster as dg
from dagster._core.launcher import CheckRunHealthResult, WorkerStatus
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

ANSWER_SECONDS = 2.0
LOOK_SECONDS = 3.0
MOST_MISSED = 3


class WatchfulRunLauncher(CeleryRunLauncher):
    """Fails a run that no worker knows of any more.

    Celery never changes the state of a task whose whole worker was killed, so that its run would stay started for ever.
    Here the workers are asked, and a run that none of them names three times is given up, and so tried again.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)  # pyright: ignore[reportUnknownMemberType]
        self._missed: dict[str, int] = {}
        self._looked = float("-inf")
        self._active: set[str] = set()

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Celery's word, and the workers'."""
        told = super().check_run_worker_health(run)
        if told.status != WorkerStatus.RUNNING or run.tags[DAGSTER_CELERY_TASK_ID_TAG] in self._at_work():
            self._missed.pop(run.run_id, None)
            return told
        self._missed[run.run_id] = self._missed.get(run.run_id, 0) + 1
        if self._missed[run.run_id] < MOST_MISSED:
            return told
        return CheckRunHealthResult(WorkerStatus.FAILED, "No Celery worker has this run; the one that had it was lost.")

    def _at_work(self) -> set[str]:
        """The tasks that workers have; one question serves the runs of a round."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            celery: Any = self.celery  # has no types
            workers: Mapping[str, list[dict[str, Any]]] = celery.control.inspect(timeout=ANSWER_SECONDS).active() or {}
            self._active = {str(task["id"]) for tasks in workers.values() for task in tasks}
            self._looked = time.monotonic()
        return self._active
