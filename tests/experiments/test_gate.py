"""`amemgym gate`: a memory beside its baseline."""

import json
import re
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from assets.records.estimate import Estimate
from dataset_card.amemgym.reference.data_json import data_json
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.records import ErrorRow
from pipelines.experiments.scoring.gate import (
    Baseline,
    baseline_of,
    gate,
    gate_table,
    junit_report,
    verdict_of,
)
from pipelines.experiments.scoring.power import Power
from pipelines.experiments.scoring.ranking import run_groups
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


def test_a_memory_as_good_as_its_baseline_is_no_worse_by_the_margin(keeps_all: FinishedRun) -> None:
    result = gate(keeps_all, baseline_of(keeps_all), margin=0.1)
    assert result.problem == ""
    assert result.sentence.startswith("The memory is no worse than its baseline: it has not lost 0.1 or more (.000 [")
    assert [check.verdict for check in result.checks] == ["no worse", "no worse", "worse"]
    assert [check.name for check in result.checks] == ["the memory", "the needed facts alone", "no memory"]


def test_a_memory_that_forgets_is_worse_in_another_group_and_both_reports_say_so(
    keeps_all: FinishedRun, tmp_path: Path
) -> None:
    forgets = run_with(tmp_path, "none")
    assert list(run_groups([forgets, keeps_all]).values()) == ["A", "B"]
    result = gate(forgets, baseline_of(keeps_all), margin=0.05)
    lost = -(result.memory.difference.value or 0.0)
    assert lost > 0.3
    assert result.problem.startswith(f"The memory is worse than its baseline: it lost {lost:.3f} (")
    assert "| worse (must not be) |" in gate_table(result)
    suite = ElementTree.fromstring(junit_report(result, {"dataset": "rehearsal"}))
    assert (suite.get("tests"), suite.get("failures")) == ("3", "1")
    assert [failure.get("message") for failure in suite.iter("failure")] == [result.problem]


def test_a_gate_says_first_that_users_were_lost_and_why(keeps_all: FinishedRun) -> None:
    errors = (ErrorRow(item_id="ada", sentence="ada: the disk is full."), ErrorRow(item_id="ben", sentence="ben: it too."))
    lost = replace(keeps_all, results=keeps_all.results.model_copy(update={"errors": errors}))
    told = gate(lost, baseline_of(keeps_all), margin=0.1).sentence
    assert told.startswith(
        "2 users could not be evaluated to the end, and their other questions count as wrong: ada: the disk is full. "
        "The memory is no worse"
    )
    broken = gate(lost, baseline_of(lost), margin=0.1)
    nothing = replace(broken, controls=(broken.controls[1].model_copy(update={"verdict": "no worse"}),))
    assert nothing.problem.startswith("2 users could not be evaluated to the end")


def test_a_baseline_no_better_than_no_memory_breaks_the_gate_itself(keeps_all: FinishedRun, tmp_path: Path) -> None:
    result = gate(keeps_all, baseline_of(run_with(tmp_path, "none")), margin=0.05)
    assert result.problem.startswith("The gate itself is broken: no memory scores 0.361 and is not shown to be worse")


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (-0.273, -0.021, "worse"),
        (-0.273, 0.02, "not shown"),
        (-0.051, 0.2, "not shown"),
        (-0.05, 0.02, "no worse"),
        (-0.04, -0.01, "no worse"),  # a loss, but none that matters by the margin
    ],
)
def test_nothing_is_no_worse_whose_interval_reaches_below_the_margin(low: float, high: float, verdict: str) -> None:
    assert verdict_of(Estimate(value=(low + high) / 2, low=low, high=high), margin=0.05) == verdict


def test_what_is_not_shown_is_neither_passed_nor_failed_in_junit(keeps_all: FinishedRun) -> None:
    result = gate(keeps_all, baseline_of(keeps_all), margin=0.001)
    assert (result.memory.verdict, result.problem) == ("not shown", "")
    assert result.sentence.startswith("Not shown: the memory may have lost 0.0")
    [skipped] = ElementTree.fromstring(junit_report(result, {})).iter("skipped")
    assert skipped.get("message") == result.sentence


def baseline(*runs: str) -> Baseline:
    """A baseline of six users with these answers each, as texts of 1 and 0."""
    answers = {str(number): dict.fromkeys(map(str, USERS), run) for number, run in enumerate(runs)}
    return Baseline(memory="kept", source="", noun="user", settings={}, runs=answers)


def test_of_one_run_the_gate_says_the_most_that_it_could_find_and_how_to_know_more() -> None:
    first, second = Power.of(baseline("1110" * 5)).sentences(0.05, noun="user")
    assert first.startswith(
        "6 users with 20 questions each: a loss of 0.05 that hits answers by chance is called worse at most "
    )
    assert "--write with --again adds a second run" in second


def test_flips_between_two_runs_make_a_loss_harder_to_find_and_tell_how_much_it_would_take() -> None:
    still = Power.of(baseline("1110" * 5, "1110" * 5))
    flipping = Power.of(baseline("1110" * 5, "1101" + "1110" * 4))
    assert (still.flips, flipping.flips) == (0.0, pytest.approx(0.1))
    here = (np.array([6.0]), np.array([20.0]))
    assert flipping.finds(0.05, *here)[0] < still.finds(0.05, *here)[0] < flipping.finds(0.2, *here)[0]
    told = flipping.sentences(0.05, noun="user")
    assert told[1] == "Between two runs of the unchanged memory 10.0% of the answers flip."
    found = re.fullmatch(r"To find both 80 times out of 100 takes (\d+) users or (\d+) questions of each of these 6.", told[2])
    assert found is not None
    users, questions = map(float, found.groups())
    for size in ((users, 20.0), (6.0, questions)):
        enough = flipping.finds(0.05, *map(np.array, size)), flipping.clears(0.05, *map(np.array, size))
        assert 0.8 <= min(enough) < 0.85


def test_a_second_run_of_the_same_code_is_added_and_other_code_begins_anew(keeps_all: FinishedRun) -> None:
    first = baseline_of(keeps_all)
    manifest = keeps_all.manifest
    again = replace(keeps_all, manifest=manifest.model_copy(update={"run_id": "again", "attempt": 1}))
    other = replace(again, manifest=again.manifest.model_copy(update={"memory_source": "changed"}))
    assert list(baseline_of(again, first).runs) == [manifest.run_id, "again"]
    assert baseline_of(keeps_all, first) == first
    assert list(baseline_of(other, first).runs) == ["again"]


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
    assert "a loss of 0.05 that hits answers by chance is called worse at most" in " ".join(output.split())
    assert "The gate itself is broken" in output
    assert "(must be worse)" in (tmp_path / "gate.md").read_text()
    assert ElementTree.parse(tmp_path / "gate.xml").getroot().get("failures") == "1"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"settings": {"seed": "7"}}, "The baseline was made with another"),
        ({"runs": {"a": {"gus": "1100"}}}, "The baseline is of 1 user and this run of others"),
        ({"format": 1}, "is no baseline of this program (format: "),
        ({"runs": {"a": {"gus": "1200"}}}, "is no baseline of this program (runs.a.gus: "),
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


@pytest.mark.parametrize("change", [{"memory": "bm25"}, {"settings": {"dataset": "demo 0.1.0"}}])
def test_a_baseline_of_another_memory_or_of_other_data_is_not_overwritten(
    folder: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    path = tmp_path / "other.json"
    path.write_text(json.dumps(json.loads((folder / "baseline.json").read_text()) | change))
    before = path.read_bytes()
    status, output = gate_command(folder, "none", "--write", path)
    assert (status, path.read_bytes()) == (1, before)
    assert "give --write another file name, or remove that file first." in " ".join(output.split())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--write", "few.json", "--users", 5), "too few to show a loss; a gate needs 6 or more"),
        ((), "Give --write baseline.json once"),
        (("--against", "nowhere.json"), "nowhere.json cannot be read"),
        (("--write", "nowhere/b.json"), "nowhere/b.json cannot be written: there is no folder nowhere."),
    ],
)
def test_what_cannot_be_a_gate_is_refused(folder: Path, options: tuple[object, ...], sentence: str) -> None:
    status, output = gate_command(folder, "bm25", *options)
    assert status == 1
    assert sentence in output
