"""Dagster's Celery launcher, which also asks the workers whether one of them still has the run."""

import time
from collections.abc import Mapping
from itertools import chain
from typing import Any

import dagster as dg
from dagster_celery.launcher import CeleryRunLauncher
from dagster_celery.tags import DAGSTER_CELERY_TASK_ID_TAG

INSPECT_TIMEOUT_SECONDS = 2.0
INSPECT_EVERY_SECONDS = 3.0
MAX_MISSED_CHECKS = 12  # at a check every five seconds, a minute


class WorkerCheckingRunLauncher(CeleryRunLauncher):
    """Fails a run that no worker knows of any more.

    Celery never changes the state of a task whose whole worker was killed, so that its run would stay started for ever.
    Here the workers are asked, and a run that for about a minute none of those who answer names is given up, and so tried
    again. Where nobody answers nothing is known: a broker that has just come back may take the workers half a minute to find.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)  # pyright: ignore[reportUnknownMemberType]
        self._missed: dict[str, int] = {}
        self._inspected_at = float("-inf")
        self._active: set[str] | None = None

    def check_run_worker_health(self, run: dg.DagsterRun) -> Any:
        """Celery's state of the task, as a tuple of Dagster's; failed where Celery says running and no worker names it."""
        health = super().check_run_worker_health(run)
        # Dagster exports neither the tuple's class nor that of its status.
        status = type(health.status)
        if health.status != status.RUNNING:
            return health
        active = self._active_tasks()
        if active is None:
            return health
        if run.tags[DAGSTER_CELERY_TASK_ID_TAG] in active:
            self._missed.pop(run.run_id, None)
            return health
        self._missed[run.run_id] = self._missed.get(run.run_id, 0) + 1
        if self._missed[run.run_id] < MAX_MISSED_CHECKS:
            return health
        return health._replace(status=status.FAILED, msg="No Celery worker has this run; the one that had it was lost.")

    def _active_tasks(self) -> set[str] | None:
        """The tasks that workers have; None when no worker answers. One inspection serves all runs of a round."""
        if time.monotonic() - self._inspected_at > INSPECT_EVERY_SECONDS:
            celery: Any = self.celery  # has no types
            workers: Mapping[str, list[dict[str, Any]]] | None = celery.control.inspect(
                timeout=INSPECT_TIMEOUT_SECONDS
            ).active()
            self._active = None
            if workers:
                self._active = {str(task["id"]) for task in chain.from_iterable(workers.values())}
            self._inspected_at = time.monotonic()
        return self._active
