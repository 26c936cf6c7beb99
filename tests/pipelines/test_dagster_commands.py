"""Dagster's own command on this project, `dg`, in a process of its own, with and without work units."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from assets.recipe.loading import RECIPES
from dataset_card.release.verify import verify_release
from pipelines.definitions import warn_of_plain_server
from pipelines.home import SERVES_PAGES
from tests.support.commands import clean_environment
from tests.support.guide import ROOT, copy_of_the_repository

SMALL = {"num_users": 1, "num_reserve": 1, "num_questions": 2, "num_periods": 1}


def installation(folder: Path, **recipes: dict[str, object]) -> dict[str, str]:
    """The environment of an installation with these recipes, each small but for what it says."""
    shipped = yaml.safe_load((RECIPES / "demo.yaml").read_text(encoding="utf-8"))
    (folder / "recipes").mkdir()
    (folder / "dagster").mkdir()
    (folder / "dagster" / "dagster.yaml").write_text("telemetry: {enabled: false}\n", encoding="utf-8")
    for name, fields in recipes.items():
        text = yaml.safe_dump({**shipped, **SMALL, **fields})
        (folder / "recipes" / f"{name}.yaml").write_text(text, encoding="utf-8")
    places = {"AMEMGYM_RECIPES": str(folder / "recipes"), "DAGSTER_HOME": str(folder / "dagster")}
    return clean_environment(folder, **places)


# Several commands of `dg` in one process, as each needs many seconds to import Dagster and ours; then what is beside it.
IN_TURN = """
import json, sys
from dagster_dg_cli.cli import ENV_PREFIX, cli
for words in json.load(sys.stdin):
    try:
        cli(words, auto_envvar_prefix=ENV_PREFIX)
    except SystemExit as end:
        assert not end.code, words
"""


def output_of(environment: dict[str, str], *commands: tuple[str, ...], then: str = "", project: Path = ROOT) -> str:
    """What the commands of `dg` print on their first output; they have to succeed, and so has the code `then` after them."""
    line, given = [sys.executable, "-c", f"{IN_TURN}{then}"], json.dumps(commands)
    done = subprocess.run(line, input=given, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    return done.stdout


def test_dg_scaffolds_an_asset_into_the_project_and_lists_it_beside_ours(tmp_path: Path) -> None:
    project = copy_of_the_repository(tmp_path / "project")
    environment = installation(tmp_path, demo={}) | {"PYTHONPATH": str(project)}
    told = output_of(environment, ("scaffold", "defs", "dagster.asset", "mine.py"), ("list", "defs", "--json"), project=project)
    listed = json.loads(told[told.index("{\n") :])
    assert {"amemgym/recipe", "amemgym/release", "amemgym/hub_release", "mine"} <= {
        asset["asset_key"] for asset in listed["assets"]
    }


SEED = ("--config-json", json.dumps({"ops": {"amemgym__recipe": {"config": {"seed": 5}}}}))


def test_dg_checks_all_and_materializes_everything_by_one_command(tmp_path: Path) -> None:
    everything = ("launch", "--assets", "tag:benchmark=amemgym", "--partition", "demo", *SEED)
    told = output_of(installation(tmp_path, demo={}), ("check", "defs"), everything)
    assert "All definitions loaded successfully" in told
    folder = tmp_path / "releases" / "demo" / "0.1.0"
    assert verify_release(folder) == []
    assert yaml.safe_load((folder / "recipe.yaml").read_text(encoding="utf-8"))["seed"] == 5
    assert not (tmp_path / "runs").exists()  # an evaluation is asked for by itself


# The phases after the first.
PHASES = """
import dagster as dg
from pipelines.definitions import defs
for job, partition in (("generate_unit", "split-0000"), ("generate_unit", "split-0001"), ("make_release", "split")):
    phase = defs.resolve_job_def(job)
    assert phase.execute_in_process(partition_key=partition, instance=dg.DagsterInstance.get()).success
"""


def test_where_a_recipe_is_split_into_work_units_each_phase_is_a_job(tmp_path: Path) -> None:
    environment = installation(tmp_path, demo={}, split={"num_users": 2, "users_per_shard": 1})
    output_of(environment, ("launch", "--job", "generate_and_release", "--partition", "split", *SEED), then=PHASES)
    folder = tmp_path / "releases" / "split" / "0.1.0"
    assert verify_release(folder) == []
    assert yaml.safe_load((folder / "recipe.yaml").read_text(encoding="utf-8"))["seed"] == 5


@pytest.mark.parametrize(("home", "about_storage"), [("", True), ("/data/dagster", False)])
def test_a_development_server_of_dagster_warns_once_of_what_is_missing_and_says_what_to_do(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, home: str, about_storage: bool
) -> None:
    monkeypatch.setenv("DAGSTER_IS_DEV_CLI", "1")
    monkeypatch.setenv("DAGSTER_HOME", home)
    warn_of_plain_server()
    assert caplog.messages == []  # as of `dg list`
    monkeypatch.setattr(sys, "argv", ["dagster", "api", "grpc"])
    warn_of_plain_server()
    (said,) = caplog.messages
    assert "This server has no page under /pages" in said
    assert said.endswith("Start `amemgym ui` in its place.")
    assert ("DAGSTER_HOME is not set" in said) == about_storage


def test_our_own_server_warns_of_nothing(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    monkeypatch.setenv("DAGSTER_IS_DEV_CLI", "1")
    monkeypatch.setenv(SERVES_PAGES, "1")
    warn_of_plain_server()
    assert caplog.messages == []
