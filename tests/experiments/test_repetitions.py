"""pass^k: how many tasks pass in every one of k attempts of the same plan."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.records import AnswerRow
from pipelines.experiments.scoring.board_tables import leaderboard_section
from pipelines.experiments.scoring.repetitions import REPETITIONS_TITLE, repetitions
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    return finish(run_of(tmp_path_factory.mktemp("run"), HonestModel(), conditions=(), probes="none", baselines=False))


def attempts(made: FinishedRun, outcomes: Sequence[str]) -> list[FinishedRun]:
    """A run for each attempt; every letter is a task: "r" right, "w" wrong."""
    template = next(row for row in made.answers if row.kind == "question")
    found: list[FinishedRun] = []
    for attempt, letters in enumerate(outcomes):
        rows: list[AnswerRow] = []
        for number, letter in enumerate(letters):
            status = "right" if letter == "r" else "wrong"
            rows.append(template.model_copy(update={"item": f"q{number}", "status": status}))
        manifest = made.manifest.model_copy(update={"run_id": f"run-{attempt}", "attempt": attempt})
        found.append(replace(made, manifest=manifest, answers=rows))
    return found


def test_it_is_the_share_of_choices_of_k_attempts_that_all_pass(made: FinishedRun) -> None:
    (found,) = repetitions(attempts(made, ["rrw", "rww", "rrw"]))
    # Of the second task two of three attempts pass: 2/3 of single ones, 1/3 of pairs, none of all three.
    assert [one.value for one in found.passed_all] == pytest.approx([5 / 9, 4 / 9, 3 / 9], abs=1e-6)


def test_runs_that_are_no_attempts_of_one_plan_have_none(made: FinishedRun) -> None:
    first, second = attempts(made, ["rr", "rw"])
    other = replace(second, manifest=second.manifest.model_copy(update={"seed": 8}))
    assert repetitions([first]) == []
    assert repetitions([first, other]) == []


def test_a_board_of_attempts_has_a_line_for_their_memory(made: FinishedRun, tmp_path: Path) -> None:
    section = leaderboard_section(attempts(made, ["rr", "rw"])).partition(REPETITIONS_TITLE)[2]
    assert "k = 2" in section
    assert ".500" in section
