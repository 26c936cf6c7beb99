"""Scores go to the Hub only where somebody names their runs."""

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from pipelines.cli.main import app
from pipelines.errors import Problem
from pipelines.evaluation.amemgym.dataset import read_amemgym_release
from pipelines.evaluation.amemgym.tasks import AMemGymTasks
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import MODELS, HonestModel, finish, run_of
from tests.support.hub_server.releases import a_release, held_files
from tests.support.hub_server.state import FakeHub

ANSWER = {"answer": 1}
FIRST: dict[str, Any] = {"evaluation_choose_answer": ANSWER, "evaluation_choose_with_state": ANSWER}
BM25 = find_memory("bm25")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake: FakeHub) -> Path:
    """An installation with a release of two users."""
    place = tmp_path / "home"
    shutil.copytree(a_release().folder, place / "releases" / "demo" / "0.1.0")
    monkeypatch.setenv("AMEMGYM_HOME", str(place))
    return place


def finished_run(home: Path, *, users: int = 2, digest: str = "", model: str = "") -> str:
    """The id of a finished run on the release."""
    data = read_amemgym_release(home / "releases" / "demo" / "0.1.0")
    tasks = AMemGymTasks(replace(data, digest=digest or data.digest)).first(users)
    work = run_of(home / "runs", HonestModel(FIRST), data=tasks, spec=BM25, conditions=(), baselines=False)
    if model:
        manifest = work.manifest.model_copy(update={"models": {**MODELS, "assistant": model}})
        work.folder.begin(manifest)
        work = replace(work, manifest=manifest)
    return finish(work).manifest.run_id


def publish(*words: str) -> str:
    """All output of a command that succeeds."""
    result = CliRunner().invoke(app, ["publish", "demo", *words])
    assert result.exit_code == 0, result.exception
    return result.output


def refusal(*words: str) -> str:
    """The sentence of a command that ends with one."""
    problem = CliRunner().invoke(app, ["publish", "demo", *words]).exception
    assert isinstance(problem, Problem)
    return str(problem)


def sent(fake: FakeHub, repo: str) -> bytes:
    """All that the repository holds."""
    return b"".join(held_files(fake, repo).values())


def test_no_score_is_published_unless_somebody_names_its_run(fake: FakeHub, home: Path, repo: str) -> None:
    finished_run(home)
    publish("--repo", repo)
    assert b"test-model" not in sent(fake, repo)


def test_a_named_score_is_in_the_dry_run_and_then_on_the_card(fake: FakeHub, home: Path, repo: str) -> None:
    name = finished_run(home)
    for words in (["--repo", repo, "--dry-run"], ["--dry-run"]):
        assert "score  bm25 with test-model: " in publish(*words, "--scores", name)
        [score] = json.loads(publish(*words, "--scores", name, "--json"))["scores"]
        assert (score["assistant"], score["users"]) == ("bm25", 2)
    assert not fake.repos
    publish("--repo", repo, "--scores", name)
    assert "| bm25 | test-model | `demo-v0.1.0` | 2 |" in held_files(fake, repo)["README.md"].decode()
    assert "Already published" in publish("--repo", repo, "--scores", name)


def test_a_score_comes_too_late_for_a_version_that_is_published(fake: FakeHub, home: Path, repo: str) -> None:
    publish("--repo", repo)
    told = refusal("--repo", repo, "--scores", finished_run(home))
    assert f"{repo} already has demo-v0.1.0, and scores are sent with a version when it is published" in told


@pytest.mark.parametrize(
    ("run", "reason"),
    [
        ({"users": 1}, "it is over 1 of 2 users"),
        ({"digest": "f" * 64}, "it is of demo 0.1.0 with another digest (ffffffff, not "),
        ({"model": "amemgym-embedded-1"}, "the embedded model plays its assistant"),
    ],
)
def test_a_score_that_says_nothing_about_the_release_is_refused(
    fake: FakeHub, home: Path, repo: str, run: dict[str, str | int], reason: str
) -> None:
    name = finished_run(home, **run)  # pyright: ignore[reportArgumentType]
    told = refusal("--repo", repo, "--scores", name)
    assert told.startswith(f"The score of {name} cannot be published: {reason}")
    assert told.endswith("Nothing was sent.")
    assert not fake.repos


@pytest.mark.usefixtures("home", "fake")
def test_a_run_that_is_not_there_is_one_sentence() -> None:
    assert "'nowhere' names no run" in refusal("--dry-run", "--scores", "nowhere")


def test_a_run_over_a_part_of_the_release_gives_no_file_for_the_hubs_board(home: Path, tmp_path: Path) -> None:
    words = ["export", finished_run(home, users=1), "--as", "eval-results", "--repo", "lab/set", "--out", str(tmp_path / "out")]
    problem = CliRunner().invoke(app, words).exception
    assert isinstance(problem, Problem)
    assert "is over 1 of 2 users" in str(problem)
