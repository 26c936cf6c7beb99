"""Have a running deployment make a variant: the same phases as on one machine, asked for through Dagster's GraphQL."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import Any

from assets.reporting.plurals import counted
from pipelines.cli.errors import Problem
from pipelines.cluster.web_server import WebServer
from pipelines.jobs import Phase

POLL_SECONDS = 2.0
TRIES = 3
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
    """The project behind a Dagster web server. `tell` is given a line now and then."""

    url: str
    tell: Callable[[str], None]

    def make(self, phases: Sequence[Phase]) -> str:
        """Run the phases one after another, equal jobs together; the release's folder. Raises Problem."""
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
        """Start the phase's run; its id. Raises Problem."""
        tags = [{"key": "dagster/partition", "value": phase.partition}]
        params = {
            "selector": {"jobName": phase.job, **self._repository},
            "runConfigData": {"ops": phase.config},
            "executionMetadata": {"tags": tags},
        }
        return self._server.launch(LAUNCH_RUN, key="run", what=phase.job, params=params)["run"]["runId"]

    def _run(self, phase: Phase) -> str:
        run_id = self.launch(phase)
        self.tell(f"{phase.job} of {phase.partition}: run {run_id}")
        run = self._last_try(run_id)
        if run["status"] != "SUCCESS":
            raise Problem(f"{phase.job} of {phase.partition} did not succeed; see {self._server.address}/runs/{run['runId']}")
        entries = [entry for made in run["assetMaterializations"] for entry in made["metadataEntries"]]
        return next((entry.get("path") or entry.get("text") or "" for entry in entries if entry["label"] == "folder"), "")

    def _last_try(self, run_id: str) -> dict[str, Any]:
        """Wait for the run, or for the one that was started in its place."""
        while True:
            again = self._runs({"tags": [{"key": "dagster/root_run_id", "value": run_id}]})
            runs = again or self._runs({"runIds": [run_id]})
            if not runs:
                raise Problem(f"Run {run_id} is no longer known on {self._server.address}; somebody deleted it.")
            run = runs[0]
            tags = {tag["key"]: tag["value"] for tag in run["tags"]}
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
        self.tell(f"{job}: {counted(len(partitions), 'work unit')}, {page}")
        made = self._made(backfill_id, job=job)
        lost = self._lost(backfill_id) if made < len(partitions) and tries > 1 else []
        if made + len(lost) < len(partitions):
            raise Problem(f"Not all work units of {job} could be made; see {page}")
        if lost:
            self._backfill(job, lost, tries=tries - 1)

    def _made(self, backfill_id: str, *, job: str) -> int:
        """Tell the counts whenever they change; how many partitions were made when it is over.

        Its status alone is no answer: a backfill of which one run is tried again counts as failed, and may as over.
        """
        before = ""
        while True:
            found = self._server.ask(BACKFILL, key="partitionStatusCounts", id=backfill_id)
            counts = {count["runStatus"].lower(): count["count"] for count in found["partitionStatusCounts"] if count["count"]}
            now = ", ".join(f"{count} {name}" for name, count in counts.items())
            if now != before:
                self.tell(f"{job}: {now}")
            completed = found["status"] in COMPLETED and counts.keys() <= ENDED
            if completed or found["status"] in GIVEN_UP:
                return counts.get("success", 0)
            before = now
            time.sleep(POLL_SECONDS)

    def _lost(self, backfill_id: str) -> list[str]:
        """The work units whose process died last: Dagster starts no run again whose backfill it already takes for over."""
        marks = {"dagster/backfill": backfill_id, "dagster/will_retry": "true"}
        chosen = {"statuses": ["FAILURE"], "tags": [{"key": key, "value": value} for key, value in marks.items()]}
        runs = self._server.ask(DIED, key="results", filter=chosen)["results"]
        tags = [{tag["key"]: tag["value"] for tag in run["tags"]} for run in runs]
        return [one["dagster/partition"] for one in tags if "dagster/auto_retry_run_id" not in one]
