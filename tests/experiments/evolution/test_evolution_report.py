"""The report of an evolution follows from its results, and the tables hold all numbers."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.errors import Problem
from pipelines.experiments.evolution.report import evolution_report
from tests.experiments.evolution.scripted_evolution import evolution_of, evolved, learner

pytestmark = pytest.mark.slow  # an evolution is many evaluations


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder and the results of an evolution."""
    work = evolution_of(tmp_path_factory.mktemp("evolution"), learner(), users=("ada", "ben", "cleo"))
    return work.run.folder.path, evolved(work)


def test_the_report_follows_from_the_results(made: tuple[Path, Any]) -> None:
    folder, done = made
    assert evolution_report(done) == (folder / "report.md").read_text(encoding="utf-8")


def test_all_numbers_stand_in_json_and_in_a_table(made: tuple[Path, Any]) -> None:
    reader: Any = pq
    rows = reader.read_table(made[0] / "scores.parquet").to_pylist()
    results = json.loads((made[0] / "results.json").read_text(encoding="utf-8"))

    assert rows == results["scores"]
    assert {row["metric"] for row in rows} >= {
        "memory",
        "write_failure",
        "read_failure",
        "utilization_failure",
        "factual_recall",
    }
    assert {row["cycle"] for row in rows} == {-1, 0, 1, 2}
    assert {row["low"] for row in rows} == {None}, "so few users have no interval"


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--feedback", "some"], "--feedback 'some' is not known; give one or several of none,question-only,complete"),
        (["--protocol", "mine"], "--protocol 'mine' is not known"),
        (["--feedback-questions", "0"], "--feedback-questions and --most-characters must be 1 or more"),
        (["--set", "replay=x"], "leave replay out"),
    ],
)
def test_options_that_make_no_evolution_are_refused_by_name(words: list[str], problem: str) -> None:
    with pytest.raises(Problem, match=re.escape(problem)):
        CliRunner().invoke(app, ["evolve", "demo", *words], catch_exceptions=False)
