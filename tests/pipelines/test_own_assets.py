"""Somebody's own assets on top of ours: they are given rows, and their values are where Dagster keeps them."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.reading import read_rows
from pipelines.resources.storage.errors import StoreError
from tests.pipelines.chained import SMALL
from tests.support.commands import amemgym, clean_environment, finish

OWN = """
import dagster as dg
import duckdb
import pandas as pd
import pyarrow as pa

from assets.amemgym.pipeline import AMEMGYM
from pipelines import definitions

units = AMEMGYM.partitions.by_unit


@dg.asset(partitions_def=units)
def answer_lengths(answers: pd.DataFrame) -> pd.DataFrame:
    return answers[["user_id"]].assign(items=len(answers))


@dg.asset(partitions_def=units)
def question_count(questions: pa.Table) -> int:
    return questions.num_rows


@dg.asset(partitions_def=units)
def summary(answer_lengths: pd.DataFrame, question_count: int, events: duckdb.DuckDBPyRelation, state_schema: list) -> str:
    users = len(events.fetchall())
    return f"{len(answer_lengths)} {question_count} {users} {state_schema[0].user_id == answer_lengths.user_id[0]}"


@dg.asset(partitions_def=AMEMGYM.partitions.by_variant)
def of_the_release(release) -> None: ...


@dg.asset
def all_partitions(context, personas) -> str:
    return str(len(personas))


@dg.asset(ins={"personas": dg.AssetIn(metadata={"allow_missing_partitions": True})})
def partitions_that_are_there(personas) -> str:
    return ",".join(personas.unit)


own = [answer_lengths, question_count, summary, of_the_release, all_partitions, partitions_that_are_there]
defs = dg.Definitions.merge(definitions.defs, dg.Definitions(assets=own))
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    status, output = finish(amemgym(folder, "generate", "demo", *SMALL))
    assert status == 0, output
    (folder / "own.py").write_text(OWN, encoding="utf-8")
    return folder


def materialize(folder: Path, select: str, *words: str) -> tuple[int, str]:
    line = [sys.executable, "-m", "dagster", "asset", "materialize", "-f", str(folder / "own.py"), "--select", select, *words]
    environment = clean_environment(folder, DAGSTER_HOME=str(folder / "dagster"))
    done = subprocess.run(line, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_own_assets_are_given_rows_as_what_they_are_annotated_with(made: Path) -> None:
    status, output = materialize(made, "answer_lengths,question_count,summary", "--partition", "demo")
    assert status == 0, output
    stored = list((made / "dagster").rglob("summary/demo"))
    assert [b"2 2 2 True" in path.read_bytes() for path in stored] == [True]


def test_an_asset_without_partitions_is_told_which_one_is_missing_or_takes_those_that_are_there(made: Path) -> None:
    status, output = materialize(made, "all_partitions")
    assert status == 1
    assert "Asset 'personas' has no value for 'base' yet; materialize it first." in output
    status, output = materialize(made, "partitions_that_are_there")
    assert status == 0, output


def test_a_release_has_no_value_to_be_given(made: Path) -> None:
    status, output = materialize(made, "of_the_release", "--partition", "demo")
    assert status == 1
    assert "Asset 'release' has no value to be given to an input: name it in `deps`" in output


def test_values_are_loaded_as_rows_in_a_notebook(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMGYM_HOME", str(made))
    rows = read_rows("answers", "demo")
    assert len(rows) == 2
    assert {"unit", "position", "user_id"} <= set(rows.columns)
    assert set(rows.unit) == {"demo"}
    for stage, partition, sentence in (
        ("answers", "base", "Asset 'answers' has no rows of 'base' yet; materialize it first."),
        ("answer", "demo", "There is no stage 'answer'; there are personas, user_profiles, "),
        ("answers", "nosuch", "There is no partition 'nosuch'; there are demo, base, extra."),
    ):
        with pytest.raises(StoreError, match=sentence):
            read_rows(stage, partition)


def test_the_rows_of_finished_users_are_the_same_users_in_every_stage(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMEMGYM_HOME", str(made))
    episodes = read_rows("episodes", "demo")
    for stage in ("personas", "user_profiles", "answers", "session_queries"):
        rows = read_rows(stage, "demo", finished=True)
        assert list(rows.user_id) == list(episodes.user_id)


def test_dagster_itself_loads_rows(made: Path) -> None:
    program = (
        "import pyarrow as pa, duckdb\nfrom pipelines.definitions import defs\n"
        "frame = defs.load_asset_value('answers', partition_key='demo')\n"
        "table = defs.load_asset_value('answers', python_type=pa.Table, partition_key='demo')\n"
        "recipe = defs.load_asset_value('recipe', partition_key='demo')\n"
        "print(type(frame).__name__, len(frame), table.num_rows, recipe.num_users)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=clean_environment(made), capture_output=True, text=True, check=False
    )
    assert done.stdout.split() == ["DataFrame", "2", "2", "2"], done.stderr
