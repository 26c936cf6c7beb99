"""Somebody's own assets on top of ours: they are given rows, and their values are where Dagster keeps them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import StoreError
from pipelines.opening.reading import read_rows
from tests.support.commands import clean_environment
from tests.support.guide import ROOT

OWN = """
import dagster as dg
import duckdb
import pandas as pd
import pyarrow as pa

from assets.amemgym.pipeline import AMEMGYM
from pipelines import definitions

units = AMEMGYM.partitions.by_unit


def from_stages(*names):
    return {name: dg.AssetIn(AMEMGYM.asset_key(name)) for name in names}


@dg.asset(partitions_def=units, ins=from_stages("answers"))
def answer_lengths(answers: pd.DataFrame) -> pd.DataFrame:
    return answers[["user_id"]].assign(items=len(answers))


@dg.asset(partitions_def=units, ins=from_stages("questions"))
def question_count(questions: pa.Table) -> int:
    return questions.num_rows


@dg.asset(partitions_def=units, ins=from_stages("events", "state_schema"))
def summary(answer_lengths: pd.DataFrame, question_count: int, events: duckdb.DuckDBPyRelation, state_schema: list) -> str:
    users = len(events.fetchall())
    return f"{len(answer_lengths)} {question_count} {users} {state_schema[0].user_id == answer_lengths.user_id[0]}"


@dg.asset(partitions_def=AMEMGYM.partitions.by_variant, ins=from_stages("release"))
def of_the_release(release) -> None: ...


@dg.asset(ins=from_stages("personas"))
def all_partitions(context, personas) -> str:
    return str(len(personas))


@dg.asset(ins={"personas": dg.AssetIn(AMEMGYM.asset_key("personas"), metadata={"allow_missing_partitions": True})})
def partitions_that_are_there(personas) -> str:
    return ",".join(personas.unit)


own = [answer_lengths, question_count, summary, of_the_release, all_partitions, partitions_that_are_there]
defs = dg.Definitions.merge(definitions.defs, dg.Definitions(assets=own))
"""

# What becomes of assets that are materialized one by one, and what Dagster loads of ours: one process for all, as each takes
# seconds to start.
PROGRAM = """
import json

import dagster as dg
import pyarrow as pa

from own import defs


def outcome(asset, partition=None):
    job, keys = defs.resolve_implicit_global_asset_job_def(), [dg.AssetKey(asset)]
    result = job.execute_in_process(
        asset_selection=keys, partition_key=partition, raise_on_error=False, instance=dg.DagsterInstance.get()
    )
    failed = [event.step_failure_data.user_failure_data for event in result.all_events if event.is_step_failure]
    return "made" if result.success else failed[0].description


assets = {name: outcome(name) for name in ("all_partitions", "partitions_that_are_there")}
frame = defs.load_asset_value(["amemgym", "answers"], partition_key="demo")
table = defs.load_asset_value(["amemgym", "answers"], python_type=pa.Table, partition_key="demo")
recipe = defs.load_asset_value(["amemgym", "recipe"], partition_key="demo")
loaded = [type(frame).__name__, len(frame), table.num_rows, recipe.num_users]
own = [outcome(name, "demo") for name in ("answer_lengths", "question_count", "summary")]
print(json.dumps({**assets, "own": own, "of_the_release": outcome("of_the_release", "demo"), "loaded": loaded}))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, finished_demo: Path) -> Path:
    folder = shutil.copytree(finished_demo, tmp_path_factory.mktemp("own") / "home")
    (folder / "own.py").write_text(OWN, encoding="utf-8")
    return folder


def output_of(folder: Path, *line: str) -> str:
    """What a process prints that has the installation and the module of own assets."""
    environment = clean_environment(folder, DAGSTER_HOME=str(folder / "dagster"))
    command = [sys.executable, *line]
    done = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def told(made: Path) -> dict[str, Any]:
    return json.loads(output_of(made, "-c", PROGRAM).splitlines()[-1])


def test_own_assets_are_given_rows_as_what_they_are_annotated_with(made: Path, told: dict[str, Any]) -> None:
    assert told["own"] == ["made", "made", "made"]
    stored = list((made / "dagster").rglob("summary/demo"))
    assert [b"2 2 2 True" in path.read_bytes() for path in stored] == [True]


def test_an_asset_without_partitions_is_told_which_one_is_missing_or_takes_those_that_are_there(told: dict[str, Any]) -> None:
    assert "Asset 'personas' has no value for 'base' yet; materialize it first." in told["all_partitions"]
    assert told["partitions_that_are_there"] == "made"


def test_a_release_has_no_value_to_be_given(told: dict[str, Any]) -> None:
    assert "Asset 'release' has no value for an input; name it in `deps`" in told["of_the_release"]


def test_values_are_loaded_as_rows_in_a_notebook(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMGYM_HOME", str(made))
    rows = read_rows("answers", "demo")
    assert len(rows) == 2
    assert {"unit", "position", "user_id"} <= set(rows.columns)
    assert set(rows.unit) == {"demo"}
    for stage, partition, sentence in (
        ("answers", "base", "Asset 'answers' has no rows of 'base' yet; materialize it first."),
        ("answer", "demo", "There is no stage 'answer'; there are personas, user_profiles, "),
        ("answers", "nosuch", "There is no partition 'nosuch'; there are demo, base, base-paper, extra, extra-paper."),
    ):
        with pytest.raises(StoreError, match=sentence):
            read_rows(stage, partition)


def test_the_rows_of_finished_users_are_the_same_users_in_every_stage(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMGYM_HOME", str(made))
    episodes = read_rows("episodes", "demo")
    for stage in ("personas", "user_profiles", "answers", "session_queries"):
        rows = read_rows(stage, "demo", finished=True)
        assert list(rows.user_id) == list(episodes.user_id)


def test_dagster_itself_loads_rows(told: dict[str, Any]) -> None:
    assert told["loaded"] == ["DataFrame", 2, 2, 2]


def test_a_project_with_an_assets_package_has_ours_as_a_second_code_location(tmp_path: Path) -> None:
    """Issue 60: definitions of two projects whose packages have one name cannot be merged in one process."""
    page = (ROOT / "pipelines/guide/make/own-assets.md").read_text(encoding="utf-8")
    workspace = page.partition("```yaml\n")[2].partition("```")[0]
    files = {
        "assets/__init__.py": "",
        "assets/daily.py": "import dagster as dg\n\n\n@dg.asset(deps=['release'])\ndef lengths() -> None: ...\n",
        "definitions.py": "import dagster as dg\nfrom assets.daily import lengths\n\ndefs = dg.Definitions(assets=[lengths])\n",
        "workspace.yaml": workspace.replace("/path/to/amemgym-synth", str(ROOT)),
        "home/dagster.yaml": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    environment = {**clean_environment(tmp_path / "data"), "DAGSTER_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-m", "dagster", "definitions", "validate", "-w", "workspace.yaml"]
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    for location in ("mine", "amemgym"):
        assert f"Validation successful for code location {location}." in ended.stderr + ended.stdout
