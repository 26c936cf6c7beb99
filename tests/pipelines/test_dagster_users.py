"""What people who know Dagster do, through its server and daemon: backfill everything, and go on from a failure."""

import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
import yaml

from assets.recipe.loading import RECIPES
from dataset_card.release.verify import verify_release
from tests.support.commands import amemgym_here, priced_embedded_model
from tests.support.graphql import GraphQL, RefusedError
from tests.support.ui_server import ui_server

SMALL = {"num_users": 1, "num_questions": 2, "num_periods": 1}
TIGHT = {"num_questions": 3, "num_periods": 2, "budget": {"max_tokens": 15_000}}
WAIT_SECONDS = 780.0  # pytest ends a test after 900
LAUNCH_BACKFILL = """
mutation ($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) { __typename
  ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
BACKFILL = """
query ($id: String!) { partitionBackfillOrError(backfillId: $id) { __typename ... on PartitionBackfill {
  status error { message } } } }"""
LAUNCH_RUN = """
mutation ($params: ExecutionParams!) { launchRun(executionParams: $params) { __typename
  ... on LaunchRunSuccess { run { runId } } ... on PythonError { message }
  ... on RunConfigValidationInvalid { errors { message } } } }"""
REEXECUTE = """
mutation ($params: ReexecutionParams!) { launchRunReexecution(reexecutionParams: $params) { __typename
  ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
RUN = """
query ($id: ID!) { runOrError(runId: $id) { __typename ... on Run { status } } }"""
STEPS = """
query ($id: ID!) { runOrError(runId: $id) { __typename ... on Run { stepStats { stepKey } } } }"""
FAILURES = """
query ($id: ID!) { logsForRun(runId: $id) { __typename ... on EventConnection { events { __typename
  ... on ExecutionStepFailureEvent { failureMetadata { description } } } } } }"""
IS_VALID = """
query ($job: PipelineSelector!, $runConfigData: RunConfigData!) {
  isPipelineConfigValid(pipeline: $job, runConfigData: $runConfigData, mode: "default") { __typename
  ... on RunConfigValidationInvalid { errors { message stack { entries {
    ... on EvaluationStackPathEntry { fieldName } } } } } } }"""
RUNS = """
{ runsOrError { __typename ... on Runs { results { runId } } } }"""
ASSETS = """
{ assetsOrError { __typename ... on AssetConnection { nodes {
key { path } definition { isMaterializable tags { key value } } } } } }"""
REPOSITORY = {"repositoryLocationName": "amemgym", "repositoryName": "__repository__"}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("installation")


@pytest.fixture(scope="module")
def dagster(home: Path) -> Iterator[GraphQL]:
    """Server and daemon, over small recipes: `demo` and `base`, and `tight` with a budget that is too low for it."""
    recipes, shipped = home / "recipes", yaml.safe_load((RECIPES / "demo.yaml").read_text(encoding="utf-8"))
    recipes.mkdir()
    for name, further in {"demo": {}, "base": {"seed": 7}, "tight": {"seed": 8, **TIGHT}}.items():
        (recipes / f"{name}.yaml").write_text(yaml.safe_dump({**shipped, **SMALL, **further}), encoding="utf-8")
    surroundings = {"AMEMGYM_RECIPES": str(recipes), "AMEMGYM_PRICES": str(priced_embedded_model(home))}
    with ui_server(home, surroundings) as server:
        yield GraphQL(server.url)


def waited_for(dagster: GraphQL, query: str, *, done: tuple[str, ...], **variables: str) -> dict[str, Any]:
    deadline = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < deadline:
        answer = dagster.ask(query, key="status", **variables)
        if answer["status"] in done:
            return answer
        time.sleep(1.0)
    raise AssertionError(f"not done in {WAIT_SECONDS:.0f} s: {variables}")


def finished(dagster: GraphQL, run_id: str) -> dict[str, Any]:
    return waited_for(dagster, RUN, done=("SUCCESS", "FAILURE", "CANCELED"), id=run_id)


@pytest.mark.usefixtures("dagster")
def test_a_second_page_of_the_same_folder_does_not_start(home: Path) -> None:
    status, output = amemgym_here(home, "ui", "--port", "0")
    assert status == 1
    assert f"The UI of {home} runs already; use its page, or end it first." in " ".join(output.split())


def launched(dagster: GraphQL, job: str, partition: str, **config: object) -> str:
    params = {
        "selector": {"jobName": job, **REPOSITORY},
        "runConfigData": {"ops": config},
        "executionMetadata": {"tags": [{"key": "dagster/partition", "value": partition}]},
    }
    return dagster.ask(LAUNCH_RUN, key="run", params=params)["run"]["runId"]


def sentences(dagster: GraphQL, run_id: str) -> list[str]:
    events = dagster.ask(FAILURES, key="events", id=run_id)["events"]
    return [event["failureMetadata"]["description"] for event in events if event.get("failureMetadata")]


def test_a_run_that_stopped_at_its_budget_goes_on_from_there_with_a_higher_one_and_its_own_config(
    dagster: GraphQL, home: Path
) -> None:
    stopped = launched(dagster, "generate_and_release", "tight", amemgym__release={"config": {"version": "1.2.0"}})
    assert finished(dagster, stopped)["status"] == "FAILURE"
    sentence, *_ = sentences(dagster, stopped)  # stages that need nothing of each other stop together
    assert "The budget of 'tight' is reached: " in sentence
    assert "over all its runs. Raise budget.max_tokens (a re-executed run takes it as a tag) and run again" in sentence
    assert " of 1 of 1 user, " in sentence  # and the stages after it
    tags = [{"key": "budget.max_tokens", "value": "100000000"}]
    params = {"parentRunId": stopped, "strategy": "FROM_FAILURE", "extraTags": tags}
    again = dagster.ask(REEXECUTE, key="run", params=params)["run"]["runId"]
    assert finished(dagster, again)["status"] == "SUCCESS"
    assert "amemgym__recipe" not in {step["stepKey"] for step in dagster.ask(STEPS, key="stepStats", id=again)["stepStats"]}
    assert verify_release(home / "releases" / "tight" / "1.2.0") == []  # config of the release stands under its name
    with sqlite3.connect(home / "ledger.sqlite") as ledger:
        paid = "FROM calls WHERE variant = 'tight' AND cache_hit = 0"
        calls, requests = ledger.execute(f"SELECT COUNT(*), COUNT(DISTINCT request || '/' || sample) {paid}").fetchone()
    assert calls == requests > 0


ALL, DEMO = "generate_and_release", {"dagster/partition": "demo"}
NOBODY = "http://127.0.0.1:9/v1"


@pytest.mark.parametrize(
    ("job", "tags", "config", "sentence"),
    [
        (ALL, {}, {}, "This run has no partition. Launch it for one, such as demo."),
        (ALL, {"dagster/partition": "nope"}, {}, "There is no partition 'nope'; there are demo, base, tight."),
        (ALL, DEMO, {"recipe": {"num_users": 0}}, "num_users is 0, and has to be 1 or more"),
        (ALL, DEMO, {"recipe": {"num_users": 900}}, "but the persona pool offers only 120"),
        (
            ALL,
            DEMO,
            {"recipe": {"gates": {"votes_needed": 9}}},
            "gates.votes_needed is 9, but gates.votes is",
        ),
        (
            ALL,
            DEMO,
            {"resources": {"run_context": {"endpoint": NOBODY}}},
            f"The model endpoint {NOBODY} could not be reached; start",
        ),
        (ALL, DEMO, {"release": {"version": "one"}}, "'one' is no version; give three numbers such as 0.1.0"),
        (
            "evaluate",
            DEMO,
            {"evaluation": {"memories": ["bm25", "/srv/mine.py:Mine"]}},
            "The memory '/srv/mine.py:Mine' is code or a file, which Dagster evaluates only where AMEMGYM_MEMORIES lists it",
        ),
        (
            "evaluate",
            DEMO,
            {"evaluation": {"memories": ["http://127.0.0.1:9/x#X-Steal=$OPENAI_API_KEY"]}},
            "needs variables of the environment. Dagster sends them only where AMEMGYM_MEMORIES lists the same address",
        ),
        (
            "evaluate",
            DEMO,
            {"evaluation": {"memories": ["http://otter:narwhal@127.0.0.1:9/x"]}},
            "cannot hold a password or a query here, because Dagster stores what you type in a launchpad",
        ),
        (
            "evaluate",
            DEMO,
            {"evaluation": {"memories": [{"env": "PATH"}]}},
            "The config of evaluation names the environment variable PATH",
        ),
        ("evaluate", DEMO, {"evaluation": {"memories": ["none", "bm52"]}}, "There is no memory 'bm52'. Did you mean 'bm25'?"),
        ("evaluate", DEMO, {"evaluation": {"memories": ["bm25?speed=3"]}}, "bm25 has no setting 'speed'; its settings are"),
        ("evaluate", DEMO, {"evaluation": {"memories": ["none"], "options": {"token": 9}}}, "'token', which is no option"),
        ("evaluate", DEMO, {"evaluation": {"memories": ["none"], "max_tokens": 0}}, "must be a finite number above 0, not 0"),
    ],
    ids=[
        "no partition",
        "unknown partition",
        "impossible field",
        "more than the pool",
        "impossible together",
        "endpoint that does not answer",
        "version",
        "memory",
        "variables in headers",
        "login in an address",
        "variable as a memory",
        "unknown memory",
        "unknown setting of a memory",
        "unknown option",
        "impossible limit",
    ],
)
def test_what_no_run_could_make_is_refused_when_it_is_launched(
    dagster: GraphQL, job: str, tags: dict[str, str], config: dict[str, Any], sentence: str
) -> None:
    configured = {f"amemgym__{name}": {"config": fields} for name, fields in config.items() if name != "resources"}
    resources = {name: {"config": fields} for name, fields in config.get("resources", {}).items()}
    params = {
        "selector": {"jobName": job, **REPOSITORY},
        "runConfigData": {"ops": configured, "resources": resources},
        "executionMetadata": {"tags": [{"key": key, "value": value} for key, value in tags.items()]},
    }
    before = dagster.ask(RUNS, key="results")["results"]
    with pytest.raises(RefusedError) as error:
        dagster.ask(LAUNCH_RUN, key="run", params=params)
    assert sentence in str(error.value)
    assert dagster.ask(RUNS, key="results")["results"] == before


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"num_users": -3}, "num_users is -3, and has to be 1 or more"),
        ({"num_users": 0}, "num_users is 0, and has to be 1 or more"),
        ({"num_users": "many"}, "num_users"),
        ({"num_user": 3}, "num_user"),
        ({"start_date": "yesterday"}, "start_date is 'yesterday', and has to be a date"),
        ({"language": "tlh"}, "language"),
        ({"num_questions": 0}, "num_questions is 0"),
        ({"num_periods": -1}, "num_periods is -1"),
        ({"models": {"writer": {"temperature": 9.0}}}, "models.writer.temperature is 9.0, and has to be 2 or less"),
        ({"gates": {"policy": "lax"}}, "policy"),
        ({"gates": {"votes": 0}}, "gates.votes is 0"),
        ({"budget": {"max_tokens": -5}}, "budget.max_tokens is -5"),
    ],
    ids=str,
)
def test_a_value_that_no_recipe_could_have_is_marked_before_anything_is_launched(
    dagster: GraphQL, fields: dict[str, Any], words: str
) -> None:
    config = {"ops": {"amemgym__recipe": {"config": fields}}}
    variables = {"job": {"pipelineName": ALL, **REPOSITORY}, "runConfigData": config}
    (error,) = dagster.ask(IS_VALID, key="errors", **variables)["errors"]
    assert words in error["message"]
    assert [entry["fieldName"] for entry in error["stack"]["entries"]][:3] == ["ops", "amemgym__recipe", "config"]


def test_a_backfill_of_everything_ends_well(dagster: GraphQL, home: Path) -> None:
    assets = [
        {"path": cast(list[str], node["key"]["path"])}
        for node in dagster.ask(ASSETS, key="nodes")["nodes"]
        if node["definition"]["isMaterializable"] and {"key": "benchmark", "value": "amemgym"} in node["definition"]["tags"]
    ]
    assert {"path": ["amemgym", "evaluation"]} not in assets  # which is asked for by itself
    assert {"path": ["amemgym", "hub_release"]} in assets
    params = {"assetSelection": assets, "partitionNames": ["demo", "base"]}
    backfill = dagster.ask(LAUNCH_BACKFILL, key="backfillId", params=params)["backfillId"]
    done = ("COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED")
    assert waited_for(dagster, BACKFILL, done=done, id=backfill)["status"] == "COMPLETED_SUCCESS"
    assert (home / "releases" / "base" / "0.1.0").is_dir()
