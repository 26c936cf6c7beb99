"""`amemgym gate`: a memory beside its baseline."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from dataset_card.amemgym.reference.data_json import data_json
from pipelines.evaluation.folder import FinishedRun
from pipelines.experiments.scoring.gate import (
    Baseline,
    ScoredUser,
    baseline_of,
    chance_of_finding,
    gate,
    gate_table,
    junit_report,
)
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel, episode, finish, run_of, tasks
from tests.support.commands import amemgym_here

USERS = ("ada", "ben", "cem", "dan", "eva", "fay")


def run_with(folder: Path, memory: str) -> FinishedRun:
    """A run on six users whose reasoner believes what it reads."""
    asked = {"conditions": ("none", "facts"), "probes": "none", "baselines": False}
    return finish(run_of(folder, HonestModel(), data=tasks(*USERS), spec=find_memory(memory), **asked))


@pytest.fixture(scope="module")
def keeps_all(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    return run_with(tmp_path_factory.mktemp("kept"), "full-history")


def test_a_memory_as_good_as_its_baseline_passes(keeps_all: FinishedRun) -> None:
    result = gate(keeps_all, baseline_of(keeps_all), tolerance=0.0)
    assert result.problem == ""
    assert [check.passed for check in result.checks] == [True, True, False]
    assert [check.name for check in result.checks] == ["the memory", "the needed facts alone", "no memory"]


def test_a_memory_that_forgets_fails_and_both_reports_say_so(keeps_all: FinishedRun, tmp_path: Path) -> None:
    result = gate(run_with(tmp_path, "none"), baseline_of(keeps_all), tolerance=0.0)
    lost = -(result.memory.difference.difference.value or 0.0)
    assert lost > 0.3
    assert result.problem == f"The memory lost {lost:.3f} against its baseline (p .031)."  # 2 of the 64 swaps
    assert "fails (must pass)" in gate_table(result, users=len(USERS))
    suite = ElementTree.fromstring(junit_report(result, {"dataset": "rehearsal"}))
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    assert [failure.get("message") for failure in suite.iter("failure")] == [result.problem]


def test_a_fall_within_the_tolerance_passes(keeps_all: FinishedRun, tmp_path: Path) -> None:
    result = gate(run_with(tmp_path, "none"), baseline_of(keeps_all), tolerance=0.9)
    assert result.memory.passed


def test_a_baseline_no_better_than_no_memory_breaks_the_gate_itself(keeps_all: FinishedRun, tmp_path: Path) -> None:
    result = gate(keeps_all, baseline_of(run_with(tmp_path, "none")), tolerance=0.0)
    assert result.problem.startswith("The gate itself is broken: no memory passes with")


def test_small_losses_are_found_less_often_than_large_ones() -> None:
    users = tuple(ScoredUser(user_id=name, asked=20, right=16) for name in USERS)
    baseline = Baseline(memory="kept", noun="user", settings={}, users=users)
    small, large = (chance_of_finding(loss, baseline, tolerance=0.0, seed=1) for loss in (0.01, 0.2))
    assert small < 0.5 < large
    assert chance_of_finding(0.2, baseline, tolerance=0.5, seed=1) == 0.0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a data.json of six users, and a baseline of it by the command."""
    folder = tmp_path_factory.mktemp("gate")
    (folder / "data.json").write_bytes(data_json([episode(user) for user in USERS]))
    status, output = gate_command(folder, "none", "--write", folder / "baseline.json")
    assert status == 0, output
    return folder


def gate_command(folder: Path, memory: str, *options: object) -> tuple[int, str]:
    """Return exit status and output of the command on the folder's data, with the embedded model."""
    return amemgym_here(folder / "home", "gate", memory, "--on", str(folder / "data.json"), *map(str, options))


def test_the_command_prints_power_and_table_writes_both_files_and_fails(folder: Path, tmp_path: Path) -> None:
    files = ("--junit", tmp_path / "gate.xml", "--markdown", tmp_path / "gate.md")
    status, output = gate_command(folder, "none", "--against", folder / "baseline.json", *files)
    assert status == 1  # a baseline of nothing, which no memory reaches too
    assert "A loss of 0.05 that hits answers by chance is found" in output
    assert "The gate itself is broken" in output
    assert "passes (must fail)" in (tmp_path / "gate.md").read_text()
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().get("failures") == "1"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"settings": {"seed": "7"}}, "The baseline was made with another"),
        ({"users": [{"user_id": "gus", "asked": 4, "right": 2}]}, "The baseline is of 1 user and this run of others"),
        ({"format": 2}, "is no baseline of this program"),
    ],
)
def test_a_baseline_of_something_else_is_refused_before_the_first_call(
    folder: Path, tmp_path: Path, change: dict[str, object], sentence: str
) -> None:
    content = json.loads((folder / "baseline.json").read_text()) | change
    (tmp_path / "other.json").write_text(json.dumps(content))
    status, output = gate_command(folder, "bm25", "--against", tmp_path / "other.json")
    assert status == 1
    assert sentence in output


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--write", "few.json", "--users", 5), "too few to show a loss; a gate needs 6 or more"),
        ((), "Give --write baseline.json once"),
        (("--against", "nowhere.json"), "nowhere.json cannot be read"),
    ],
)
def test_what_cannot_be_a_gate_is_refused(folder: Path, options: tuple[object, ...], sentence: str) -> None:
    status, output = gate_command(folder, "bm25", *options)
    assert status == 1
    assert sentence in output
