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
MOST_MISSED = 12  # at a look every five seconds, a minute


class WatchfulRunLauncher(CeleryRunLauncher):
    """Fails a run that no worker knows of any more.

    Celery never changes the state of a task whose whole worker was killed, so that its run would stay started for ever.
    Here the workers are asked, and a run that for about a minute none of those who answer names is given up, and so tried
    again. Where nobody answers nothing is known: a broker that has just come back may take the workers half a minute to find.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)  # pyright: ignore[reportUnknownMemberType]
        self._missed: dict[str, int] = {}
        self._looked = float("-inf")
        self._active: set[str] | None = None

    def check_run_worker_health(self, run: dg.DagsterRun) -> CheckRunHealthResult:
        """Celery's word, and the workers'."""
        told = super().check_run_worker_health(run)
        if told.status != WorkerStatus.RUNNING:
            return told
        active = self._at_work()
        if active is None:
            return told
        if run.tags[DAGSTER_CELERY_TASK_ID_TAG] in active:
            self._missed.pop(run.run_id, None)
            return told
        self._missed[run.run_id] = self._missed.get(run.run_id, 0) + 1
        if self._missed[run.run_id] < MOST_MISSED:
            return told
        return CheckRunHealthResult(WorkerStatus.FAILED, "No Celery worker has this run; the one that had it was lost.")

    def _at_work(self) -> set[str] | None:
        """The tasks that workers have; None when no worker answers. One question serves the runs of a round."""
        if time.monotonic() - self._looked > LOOK_SECONDS:
            celery: Any = self.celery  # has no types
            workers: Mapping[str, list[dict[str, Any]]] | None = celery.control.inspect(timeout=ANSWER_SECONDS).active()
            self._active = {str(task["id"]) for tasks in workers.values() for task in tasks} if workers else None
            self._looked = time.monotonic()
        return self._active
