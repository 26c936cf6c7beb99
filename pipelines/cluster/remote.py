"""Have a running deployment make a variant: the same phases as on one machine, asked for through Dagster's GraphQL."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import groupby
from typing import Any, cast

import httpx2

from pipelines.cli.generate import Phase
from pipelines.cli.problems import Problem

LOOK_SECONDS = 2.0
PATIENCE_SECONDS = 300.0
REPOSITORIES = "{ repositoriesOrError { ... on RepositoryConnection { nodes { name location { name } } } } }"
LAUNCH_RUN = """
mutation ($params: ExecutionParams!) { launchRun(executionParams: $params) { __typename
  ... on LaunchRunSuccess { run { runId } } ... on RunConfigValidationInvalid { errors { message } }
  ... on PythonError { message } } }"""
LAUNCH_BACKFILL = """
mutation ($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) { __typename
  ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
RUNS = """
query ($filter: RunsFilter!) { runsOrError(filter: $filter, limit: 1) { ... on Runs { results {
  runId status tags { key value } assetMaterializations { metadataEntries { label
  ... on PathMetadataEntry { path } ... on TextMetadataEntry { text } } } } } } }"""
BACKFILL = """
query ($id: String!) { partitionBackfillOrError(backfillId: $id) { ... on PartitionBackfill {
  status numPartitions error { message } partitionStatusCounts { runStatus count } } } }"""
OVER = ("COMPLETED_SUCCESS", "COMPLETED_FAILED", "COMPLETED", "FAILED", "CANCELED")


@dataclass(frozen=True)
class Deployment:
    """A Dagster web server. `tell` is given a line now and then."""

    url: str
    tell: Callable[[str], None]
    client: httpx2.Client = field(default_factory=lambda: httpx2.Client(timeout=60))

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
    def _repository(self) -> dict[str, str]:
        """The project, which is all that this Dagster has."""
        nodes: list[dict[str, Any]] = self._ask(REPOSITORIES)["repositoriesOrError"].get("nodes", [])
        if not nodes:
            raise Problem(f"Dagster on {self.url} has no code loaded; its log says why.")
        return {"repositoryLocationName": nodes[0]["location"]["name"], "repositoryName": nodes[0]["name"]}

    def _run(self, phase: Phase) -> str:
        tags = [{"key": "dagster/partition", "value": phase.partition}]
        params = {
            "selector": {"jobName": phase.job, **self._repository},
            "runConfigData": {"ops": phase.config},
            "executionMetadata": {"tags": tags},
        }
        launched = self._ask(LAUNCH_RUN, params=params)["launchRun"]
        if "run" not in launched:
            raise Problem(f"{phase.job} cannot be started: {_words(launched)}")
        run_id = launched["run"]["runId"]
        self.tell(f"{phase.job} of {phase.partition}: run {run_id}")
        run = self._last_try(run_id)
        if run["status"] != "SUCCESS":
            raise Problem(f"{phase.job} of {phase.partition} did not succeed; see {self.url}/runs/{run['runId']}")
        entries = [entry for made in run["assetMaterializations"] for entry in made["metadataEntries"]]
        return next((entry.get("path") or entry.get("text") or "" for entry in entries if entry["label"] == "folder"), "")

    def _last_try(self, run_id: str) -> dict[str, Any]:
        """Wait for the run, or for the one that was started in its place."""
        while True:
            again = self._runs({"tags": [{"key": "dagster/root_run_id", "value": run_id}]})
            run = (again or self._runs({"runIds": [run_id]}))[0]
            tags = {tag["key"]: tag["value"] for tag in run["tags"]}
            ended = run["status"] in ("SUCCESS", "CANCELED")
            if ended or (run["status"] == "FAILURE" and tags.get("dagster/will_retry") == "false"):
                return run
            time.sleep(LOOK_SECONDS)

    def _runs(self, chosen: dict[str, Any]) -> list[dict[str, Any]]:
        return self._ask(RUNS, filter=chosen)["runsOrError"]["results"]

    def _backfill(self, job: str, partitions: Sequence[str]) -> None:
        selector = {"partitionSetName": f"{job}_partition_set", "repositorySelector": self._repository}
        launched = self._ask(LAUNCH_BACKFILL, params={"selector": selector, "partitionNames": list(partitions)})
        told = launched["launchPartitionBackfill"]
        if "backfillId" not in told:
            raise Problem(f"{job} cannot be started: {_words(told)}")
        page = f"{self.url}/runs/b/{told['backfillId']}"
        self.tell(f"{job}: {len(partitions)} work units, {page}")
        if self._made(told["backfillId"], job=job) < len(partitions):
            raise Problem(f"Not all work units of {job} could be made; see {page}")

    def _made(self, backfill_id: str, *, job: str) -> int:
        """Tell the counts whenever they change; how many partitions were made when it is over.

        Its status is no answer: a backfill of which one run was tried again counts as failed.
        """
        before = ""
        while True:
            found = self._ask(BACKFILL, id=backfill_id)["partitionBackfillOrError"]
            counts = {count["runStatus"].lower(): count["count"] for count in found["partitionStatusCounts"] if count["count"]}
            now = ", ".join(f"{count} {name}" for name, count in counts.items())
            if now != before:
                self.tell(f"{job}: {now}")
            if found["status"] in OVER:
                return counts.get("success", 0)
            before = now
            time.sleep(LOOK_SECONDS)

    def _ask(self, query: str, **variables: Any) -> dict[str, Any]:
        give_up = time.monotonic() + PATIENCE_SECONDS
        while True:
            try:
                answer = self.client.post(f"{self.url}/graphql", json={"query": query, "variables": variables})
                answer.raise_for_status()
                break
            except httpx2.HTTPError as error:
                if time.monotonic() > give_up:
                    raise Problem(f"There is no Dagster on {self.url} ({error}); start it with: amemgym cluster up") from error
            time.sleep(LOOK_SECONDS)
        content = answer.json()
        if content.get("errors"):
            raise Problem(f"Dagster on {self.url} refused: {content['errors'][0]['message']}")
        return content["data"]


def _words(told: dict[str, Any]) -> str:
    errors = cast(list[dict[str, str]], told.get("errors") or [told])
    return "; ".join(error.get("message") or told["__typename"] for error in errors)
