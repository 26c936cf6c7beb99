"""On- against off-policy: which assistants gain ranks, and how sure that is."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.records.estimate import Estimate
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.metrics.metrics import memory_score
from pipelines.evaluation.metrics.results import tally_users
from pipelines.experiments.scoring.compare import PolicyRow, compare_runs, policy_rows
from pipelines.experiments.scoring.ranking import leaderboard_section, leaderboard_table, period_table, run_labels
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
    fields = {"memory": spec, "mode": "off-policy" if off else "on-policy", "run_id": f"{name}-{off}", **changes}
    return replace(run, manifest=run.manifest.model_copy(update=fields))


def rows_of(*runs: FinishedRun, users: tuple[str, ...] = USERS) -> list[PolicyRow]:
    return policy_rows(runs, tallies={run.manifest.run_id: tally_users(run.answers, users=users) for run in runs})


def test_assistants_that_change_places_gain_and_lose_a_rank(good: FinishedRun, bad: FinishedRun) -> None:
    runs = [named(good, "one"), named(bad, "two"), named(bad, "one", off=True), named(good, "two", off=True)]
    first, second = rows_of(*runs)

    assert (first.name, second.name) == ("one", "two")
    assert (first.ranks_gained, second.ranks_gained) == (Estimate(value=-1, low=-1, high=-1), Estimate(value=1, low=1, high=1))
    assert (first.difference.value or 0) < 0 < (second.difference.value or 0)


def test_assistants_run_one_way_only_are_left_out(good: FinishedRun, bad: FinishedRun) -> None:
    assert rows_of(named(good, "one"), named(bad, "two", off=True)) == []


@pytest.mark.parametrize(
    "change", [{"settings": {"model": "m"}}, {"attempt": 1}, {"seed": 9}, {"models": {**MODELS, "user": "other-user"}}]
)
def test_runs_of_one_name_are_one_assistant_only_if_all_else_is_alike(
    good: FinishedRun, bad: FinishedRun, change: dict[str, Any]
) -> None:
    same = [named(good, "one"), named(bad, "one", off=True)]
    other = [named(bad, "one", run_id="c", **change), named(good, "one", off=True, run_id="d", **change)]

    assert rows_of(same[0], other[1]) == []
    assert [row.difference.value for row in rows_of(*same, *other)] == [
        row.difference.value for row in (*rows_of(*same), *rows_of(*other))
    ]
    assert len({row.name for row in rows_of(*same, *other)}) == 2


def test_dialogues_of_two_runs_make_two_rows(good: FinishedRun, bad: FinishedRun) -> None:
    off = [named(run, "one", off=True, run_id=name, replayed_run=name) for run, name in ((good, "a"), (bad, "b"))]

    assert [row.name for row in rows_of(named(good, "one"), *off)] == ["one, dialogues of a", "one, dialogues of b"]


def test_a_row_adds_up_over_the_users_that_all_runs_have(good: FinishedRun, bad: FinishedRun) -> None:
    whole = named(good, "one")
    half = named(bad, "one", off=True, users=("ben",))
    [row] = compare_runs([whole, half]).policies

    assert row.on.value is not None
    assert row.off.value is not None
    assert row.difference.value == pytest.approx(row.off.value - row.on.value, abs=1e-5)
    assert row.off.value == memory_score(tally_users(bad.answers, users=("ben",)).total())


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


def test_settings_are_told_only_of_those_that_nothing_else_tells_apart(good: FinishedRun) -> None:
    ones = [named(good, "one", run_id=f"{freq}", settings={"freq": freq, "ns": 4}) for freq in (2, 4)]

    assert list(run_labels([*ones, named(good, "two")]).values()) == ["one, freq 2", "one, freq 4", "two"]
