"""The page of an evolution holds its curves and every policy's history, whatever the texts say, and the tables all numbers."""

import json
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.errors import Problem
from pipelines.experiments.evolution.report import evolution_page, evolution_report
from tests.evaluation.test_page import HOSTILE, blocks
from tests.experiments.evolution.scripted_evolution import evolution_of, evolved, learner

pytestmark = pytest.mark.slow  # an evolution is many evaluations


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    """The folder and the results of an evolution whose assistant talks like an attacker."""
    work = evolution_of(tmp_path_factory.mktemp("evolution"), learner({"chat": HOSTILE}), users=("ada", "ben", "cleo"))
    return work.run.folder.path, (evolved(work), work.tasks.dataset)


def test_the_page_has_curves_for_every_split_and_a_history_for_every_learner(made: tuple[Path, Any]) -> None:
    told = blocks((made[0] / "report.html").read_text(encoding="utf-8"))
    data = told["data"]
    splits = {protocol["name"]: [split["name"] for split in protocol["splits"]] for protocol in data["protocols"]}

    assert splits == {"paper": ["seen"], "held-out": ["seen", "new_questions", "new_users"]}
    for protocol in data["protocols"]:
        for split in protocol["splits"]:
            assert set(split["scores"]) == {"none", "question-only", "complete"}
            assert all(len(scores["memory"]) == 3 for scores in split["scores"].values())
    assert [one["label"] for one in data["learners"]].count("all users") == 2
    history = told[data["learners"][-1]["block"]]
    assert [step["cycle"] for step in history["steps"]] == [0, 1]
    assert all(len(shares) == 3 for shares in history["mentions"].values())


def test_no_text_can_end_its_block_or_begin_markup(made: tuple[Path, Any]) -> None:
    page = (made[0] / "report.html").read_text(encoding="utf-8")
    scripts = re.findall(r"<script[^>]*>", page)

    assert scripts == [*(f'<script type="application/json" id="{name}">' for name in blocks(page)), "<script>"]
    assert page.count("<!--") == 0
    assert "innerHTML" not in page


def test_page_and_report_follow_from_the_results(made: tuple[Path, Any]) -> None:
    folder, (done, data) = made

    assert evolution_page(done, data) == (folder / "report.html").read_text(encoding="utf-8")
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
