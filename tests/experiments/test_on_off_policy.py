"""On- against off-policy: which assistants gain, and names that tell runs apart."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.records.estimate import Estimate
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.metrics import memory_score
from pipelines.evaluation.metrics.results import tally_users
from pipelines.experiments.scoring.board_tables import leaderboard_section, leaderboard_table, period_table
from pipelines.experiments.scoring.compare import compare_runs
from pipelines.experiments.scoring.ranking import group_note, run_groups, run_labels
from pipelines.memories.contract import MemorySpec
from tests.evaluation.scripted_evaluation import MODELS, HonestModel, finish, run_of

USERS = ("ada", "ben")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    return finish(run_of(tmp_path_factory.mktemp("good"), HonestModel()))


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    spec = MemorySpec(name="none", kind="none")
    return finish(run_of(tmp_path_factory.mktemp("bad"), HonestModel(), spec=spec))


def named(run: FinishedRun, name: str, *, off: bool = False, **changes: Any) -> FinishedRun:
    """The run as one of another assistant, and of the other policy; further fields of the manifest by keyword."""
    spec = MemorySpec(name=name, kind="full-history", settings=changes.pop("settings", {}))
    fields = {"memory": spec, "mode": "dialogue", "replayed_run": "led" if off else "", "run_id": f"{name}-{off}", **changes}
    return replace(run, manifest=run.manifest.model_copy(update=fields))


def test_off_minus_on_is_a_pair_over_the_users_that_both_runs_have(good: FinishedRun, bad: FinishedRun) -> None:
    comparison = compare_runs([named(good, "one"), named(bad, "one", off=True, users=("ben",))])
    [pair] = comparison.pairs
    assert (comparison.users, pair.title) == (("ben",), "one, on-policy, 2 users minus one, off-policy, 1 user")
    [memory] = [difference.difference for difference in pair.differences if difference.metric == "memory"]
    on, off = (float(memory_score(tally_users(run.answers, users=("ben",)).total())) for run in (good, bad))
    assert memory.value == pytest.approx(on - off, abs=1e-5)


def test_labels_tell_what_tells_runs_apart_and_no_more(good: FinishedRun, bad: FinishedRun, tmp_path: Path) -> None:
    runs = [named(good, "one"), named(bad, "two")]
    both = [named(good, "one"), named(bad, "one", off=True)]

    assert list(run_labels(runs).values()) == ["one", "two"]
    assert list(run_labels(both).values()) == ["one, on-policy", "one, off-policy"]
    assert [pair.title for pair in compare_runs(runs).pairs] == ["one minus two"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"settings": {"freq": 4}}, ["one", "one, freq 4"]),
        ({"models": {**MODELS, "user": "s"}}, ["one, user simulated by test-user", "one, user simulated by s"]),
        ({"generator": "later 2"}, ["one, FIRST", "one, later 2"]),
        ({"prompts": {}}, ["one, run ...-False", "one, run ...second"]),
    ],
)
def test_runs_of_one_name_are_told_apart_everywhere(good: FinishedRun, change: dict[str, Any], told: list[str]) -> None:
    runs = [named(good, "one"), named(good, "one", run_id="second", **change)]
    expected = [name.replace("FIRST", good.manifest.generator) for name in told]

    assert list(run_labels(runs).values()) == expected
    for text in (leaderboard_table(runs), period_table(runs, "memory")):
        assert [name in text for name in (f"| {expected[0]} |", f"| {expected[1]} |")] == [True, True]


def test_scores_stand_under_their_own_number_of_needed_values_in_every_run(good: FinishedRun) -> None:
    runs: list[FinishedRun] = []
    for name, scores in (("one", {"1": 0.25, "2": 0.5}), ("two", {"2": 0.75})):
        by_required = {count: Estimate(value=share, low=None, high=None) for count, share in scores.items()}
        runs.append(replace(named(good, name), results=good.results.model_copy(update={"by_required": by_required})))
    lines = leaderboard_section(runs).partition("## Overall by number of needed values")[2].strip().splitlines()

    assert lines[0] == "| memory system | 1 needed value | 2 needed values |"
    assert lines[2:4] == ["| one | .250 | .500 |", "| two | - | .750 |"]


def test_runs_over_other_users_or_with_another_reasoner_have_letters_of_their_own(good: FinishedRun, bad: FinishedRun) -> None:
    runs = [named(good, "one"), named(bad, "two"), named(good, "three", users=("ben",))]
    runs.append(named(good, "four", models={**MODELS, "assistant": "other-model"}))
    assert run_groups(runs) == {"four-False": "A", "one-False": "B", "two-False": "B", "three-False": "C"}
    assert "A: 2 users, answered by other-model; B: 2 users, answered by test-model; C: 1 user, answered" in group_note(runs)


def test_settings_are_told_only_of_those_that_nothing_else_tells_apart(good: FinishedRun) -> None:
    ones = [named(good, "one", run_id=f"{freq}", settings={"freq": freq, "ns": 4}) for freq in (2, 4)]

    assert list(run_labels([*ones, named(good, "two")]).values()) == ["one, freq 2", "one, freq 4", "two"]
