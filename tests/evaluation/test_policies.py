"""On- against off-policy: which assistants gain ranks, and how sure that is."""

from dataclasses import replace
from pathlib import Path

import pytest

from assets.records.estimate import Estimate
from pipelines.evaluation.compare import compared, labels
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.policies import policy_rows
from pipelines.evaluation.records import AssistantSpec
from tests.evaluation.rehearsal import RehearsalModel, finish, run_of

USERS = ("ada", "ben")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    return finish(run_of(tmp_path_factory.mktemp("good"), RehearsalModel()))


@pytest.fixture(scope="module")
def bad(tmp_path_factory: pytest.TempPathFactory) -> FinishedRun:
    spec = AssistantSpec(name="llm", kind="llm", settings={"context_tokens": 1})
    return finish(run_of(tmp_path_factory.mktemp("bad"), RehearsalModel(), spec=spec))


def named(run: FinishedRun, name: str, *, off: bool = False) -> FinishedRun:
    """The run as one of another assistant, and of the other policy."""
    spec = run.manifest.assistant.model_copy(update={"name": name})
    changes = {"assistant": spec, "mode": "off-policy" if off else "on-policy", "run_id": f"{name}-{off}"}
    return replace(run, manifest=run.manifest.model_copy(update=changes))


def test_assistants_that_change_places_gain_and_lose_a_rank(good: FinishedRun, bad: FinishedRun) -> None:
    runs = [named(good, "one"), named(bad, "two"), named(bad, "one", off=True), named(good, "two", off=True)]
    first, second = policy_rows(runs, users=USERS)

    assert (first.name, second.name) == ("one", "two")
    assert (first.ranks_gained, second.ranks_gained) == (Estimate(value=-1, low=-1, high=-1), Estimate(value=1, low=1, high=1))
    assert (first.difference.value or 0) < 0 < (second.difference.value or 0)


def test_assistants_run_one_way_only_are_left_out(good: FinishedRun, bad: FinishedRun) -> None:
    assert policy_rows([named(good, "one"), named(bad, "two", off=True)], users=USERS) == []


def test_labels_tell_what_tells_runs_apart_and_no_more(good: FinishedRun, bad: FinishedRun, tmp_path: Path) -> None:
    runs = [named(good, "one"), named(bad, "two")]
    both = [named(good, "one"), named(bad, "one", off=True)]

    assert list(labels(runs).values()) == ["one", "two"]
    assert list(labels(both).values()) == ["one, on-policy", "one, off-policy"]
    assert [pair.title for pair in compared(runs).pairs] == ["one minus two"]
