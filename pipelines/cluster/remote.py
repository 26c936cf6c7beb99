"""Have a running deployment make a variant: the same phases as on one machine, asked for through Dagster's GraphQL."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from assets.reporting.plurals import counted
from pipelines.cluster.web_server import WebServer
from pipelines.errors import Problem
from pipelines.jobs import Phase

POLL_SECONDS = 2.0
TRIES = 3  # as often as Dagster tries a run (dagster.yaml)
REPOSITORIES = """
{ repositoriesOrError { __typename ... on RepositoryConnection { nodes { name location { name } } }
  ... on PythonError { message } } }"""
LAUNCH_RUN = """
mutation ($params: ExecutionParams!) { launchRun(executionParams: $params) { __typename
  ... on LaunchRunSuccess { run { runId } } ... on RunConfigValidationInvalid { errors { message } }
  ... on PythonError { message } } }"""
LAUNCH_BACKFILL = """
mutation ($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) { __typename
  ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
RUNS = """
query ($filter: RunsFilter!) { runsOrError(filter: $filter, limit: 1) { __typename ... on Runs { results {
  runId status tags { key value } assetMaterializations { metadataEntries { label
  ... on PathMetadataEntry { path } ... on TextMetadataEntry { text } } } } } ... on PythonError { message } } }"""
BACKFILL = """
query ($id: String!) { partitionBackfillOrError(backfillId: $id) { __typename ... on PartitionBackfill {
  status numPartitions error { message } partitionStatusCounts { runStatus count } } ... on PythonError { message } } }"""
DIED = """
query ($filter: RunsFilter!) { runsOrError(filter: $filter) { __typename
  ... on Runs { results { tags { key value } } } ... on PythonError { message } } }"""
ENDED = {"success", "failure", "canceled"}
GIVEN_UP = ("FAILED", "CANCELED")
COMPLETED = ("COMPLETED_SUCCESS", "COMPLETED_FAILED", "COMPLETED")


@dataclass(frozen=True)
class Deployment:
    """The project behind a Dagster web server. `report` is given a line now and then."""

    url: str
    report: Callable[[str], None]

    def make(self, phases: Sequence[Phase]) -> str:
        """Run the phases one after another, equal jobs together; return the release's folder. Raises Problem."""
        folder = ""
        for job, members in groupby(phases, key=lambda phase: phase.job):
            group = list(members)
            if len(group) == 1:
                folder = self._run(group[0])
            else:
                self._backfill(job, [phase.partition for phase in group])
        return folder

    @cached_property
    def _server(self) -> WebServer:
        return WebServer(self.url)

    @cached_property
    def _repository(self) -> dict[str, str]:
        """The project, which is all that this Dagster has."""
        nodes: list[dict[str, Any]] = self._server.ask(REPOSITORIES, key="nodes")["nodes"]
        if not nodes:
            raise Problem(f"Dagster on {self._server.address} has no code loaded; its log says why.")
        return {"repositoryLocationName": nodes[0]["location"]["name"], "repositoryName": nodes[0]["name"]}

    def launch(self, phase: Phase) -> str:
        """Start the phase's run and return its id. Raises Problem."""
        tags = [{"key": "dagster/partition", "value": phase.partition}]
        params = {
            "selector": {"jobName": phase.job, **self._repository},
            "runConfigData": {"ops": phase.config},
            "executionMetadata": {"tags": tags},
        }
        return self._server.launch(LAUNCH_RUN, key="run", what=phase.job, params=params)["run"]["runId"]

    def _run(self, phase: Phase) -> str:
        run_id = self.launch(phase)
        self.report(f"{phase.job} of {phase.partition}: run {run_id}")
        run = self._last_try(run_id)
        if run["status"] != "SUCCESS":
            raise Problem(f"{phase.job} of {phase.partition} did not succeed; see {self._server.address}/runs/{run['runId']}")
        for made in run["assetMaterializations"]:
            for entry in made["metadataEntries"]:
                if entry["label"] == "folder":
                    return entry.get("path") or entry.get("text") or ""
        return ""

    def _last_try(self, run_id: str) -> dict[str, Any]:
        """Wait until the run, or the one that was started in its place, has ended, and return it."""
        while True:
            again = self._runs({"tags": [{"key": "dagster/root_run_id", "value": run_id}]})
            runs = again or self._runs({"runIds": [run_id]})
            if not runs:
                raise Problem(f"Run {run_id} is no longer known on {self._server.address}; somebody deleted it.")
            run = runs[0]
            tags = _tags(run)
            ended = run["status"] in ("SUCCESS", "CANCELED")
            if ended or (run["status"] == "FAILURE" and tags.get("dagster/will_retry") == "false"):
                return run
            time.sleep(POLL_SECONDS)

    def _runs(self, chosen: dict[str, Any]) -> list[dict[str, Any]]:
        return self._server.ask(RUNS, key="results", filter=chosen)["results"]

    def _backfill(self, job: str, partitions: Sequence[str], *, tries: int = TRIES) -> None:
        selector = {"partitionSetName": f"{job}_partition_set", "repositorySelector": self._repository}
        params = {"selector": selector, "partitionNames": list(partitions)}
        backfill_id: str = self._server.launch(LAUNCH_BACKFILL, key="backfillId", what=job, params=params)["backfillId"]
        page = f"{self._server.address}/runs/b/{backfill_id}"
        self.report(f"{job}: {counted(len(partitions), 'work unit')}, {page}")
        made = self._made(backfill_id, job=job)
        lost = self._lost(backfill_id) if made < len(partitions) and tries > 1 else []
        if made + len(lost) < len(partitions):
            raise Problem(f"Not all work units of {job} could be made; see {page}")
        if lost:
            self._backfill(job, lost, tries=tries - 1)

    def _made(self, backfill_id: str, *, job: str) -> int:
        """Wait until a backfill is over, reporting its counts; return the number of partitions that were made.

        Its status alone is no answer: a backfill of which one run is tried again counts as failed, and may as over.
        """
        before = ""
        while True:
            found = self._server.ask(BACKFILL, key="partitionStatusCounts", id=backfill_id)
            counts: dict[str, int] = {}
            for status in found["partitionStatusCounts"]:
                if status["count"]:
                    counts[status["runStatus"].lower()] = status["count"]
            now = ", ".join(f"{count} {name}" for name, count in counts.items())
            if now != before:
                self.report(f"{job}: {now}")
            completed = found["status"] in COMPLETED and counts.keys() <= ENDED
            if completed or found["status"] in GIVEN_UP:
                return counts.get("success", 0)
            before = now
            time.sleep(POLL_SECONDS)

    def _lost(self, backfill_id: str) -> list[str]:
        """The work units whose process died last: Dagster starts no run again whose backfill it already takes for over."""
        marks = [{"key": "dagster/backfill", "value": backfill_id}, {"key": "dagster/will_retry", "value": "true"}]
        chosen = {"statuses": ["FAILURE"], "tags": marks}
        lost: list[str] = []
        for run in self._server.ask(DIED, key="results", filter=chosen)["results"]:
            tags = _tags(run)
            if "dagster/auto_retry_run_id" not in tags:
                lost.append(tags["dagster/partition"])
        return lost


def _tags(run: dict[str, Any]) -> dict[str, str]:
    return {tag["key"]: tag["value"] for tag in run["tags"]}
