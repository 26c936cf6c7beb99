"""Tasks of sde-bench's shape for real: a clone of our own with one trap, built by its own script in a copy."""

import json
from pathlib import Path

import pytest

from pipelines.agents.swe_world import BUILDING, Workspace
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.sde import ChatTask, read_sde_tasks
from pipelines.evaluation.acted.world_tasks import WorldTasks
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import finish, run_of
from tests.evaluation.test_swe_rows import BUG, NAIVE, RIGHT, write_clone
from tests.extras.test_swe import Shell, git, run_with

REPAIR = "sed -i 's/return 5/return 7/' retries/budget.py"
GUESS = "sed -i 's/return 5/return 6/' retries/budget.py"


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with one task, and the package that it builds on; commands of an agent are trusted here."""
    monkeypatch.setenv("AMEMGYM_TRUST_PACKAGES", "1")
    host = tmp_path / "host"
    (host / "tests").mkdir(parents=True)
    (host / "tests" / "test_old.py").write_text("def test_old(): pass\n")
    git(host, "init", "-q")
    git(host, "add", ".")
    git(host, "commit", "-qm", "Old")
    monkeypatch.setenv("SDEBENCH_BOLTONS_HOST", str(host))
    return write_clone(tmp_path / "clone", commit=git(host, "rev-parse", "HEAD").strip())


def read(clone: Path) -> WorldTasks:
    return read_sde_tasks(f"sde:{clone}")


def task_of(tasks: WorldTasks) -> ChatTask:
    [task] = tasks.chains[0].tasks
    assert isinstance(task, ChatTask)
    return task


def test_a_memory_is_told_the_chats_and_the_decided_repair_passes(tmp_path: Path, clone: Path) -> None:
    tasks = read(clone)
    assert tasks.info.notices[0].endswith("in the history of the repository: 1 task.")
    done = finish(run_of(tmp_path / "run", Shell([REPAIR]), data=tasks, spec=find_memory("full-history")))
    rows = {row.kind: row for row in done.answers}
    recalled = {kind: "\n".join(row.memories) for kind, row in rows.items()}
    assert (rows["question"].given, rows["question"].fact_recall) == ("passes", 1)
    assert ("Seven, and no more." in recalled["facts"], "It is." in recalled["facts"]) == (True, False)
    assert ("It is." in recalled["question"], recalled["no_memory"]) == (True, "")


@pytest.mark.parametrize(
    ("commands", "failed"),
    [
        ([GUESS], "tests/test_hidden.py"),
        (["echo 'def test_it(): pass' | tee tests/test_regression.py tests/test_budget.py"], "tests/test_regression.py"),
    ],
)
def test_a_guess_and_a_change_of_the_tests_fail(tmp_path: Path, clone: Path, commands: list[str], failed: str) -> None:
    given = run_with(tmp_path / "run", read(clone), commands, conditions=())
    assert failed in given["question"]


def test_what_a_repository_is_built_from_is_gone_before_the_agent_comes(clone: Path) -> None:
    workspace = Workspace(task_of(read(clone)).row)
    try:
        _, seen = workspace.run(f"ls tests {BUILDING}; git status --short; cat retries/budget.py")
        assert "test_regression.py" in seen
        assert "test_hidden.py" not in seen
        assert "No such file" in seen
        assert seen.endswith(BUG)
    finally:
        workspace.close()


@pytest.mark.parametrize(
    ("repairs", "why"),
    [
        ((NAIVE, NAIVE), "with its own patch 1 of 3 tests, among them tests/test_hidden.py, failed"),
        ((RIGHT, RIGHT), "its tests pass with a wrong patch"),
        ((RIGHT, NAIVE), ""),
    ],
)
def test_a_task_counts_only_where_its_right_repair_passes_and_its_guess_does_not(
    clone: Path, repairs: tuple[str, str], why: str
) -> None:
    trap = {"bug": BUG, "correct": repairs[0], "naive": [repairs[1]]}
    (clone / "gen" / "traps.py").write_text(f"TRAPS = {json.dumps({'budget': trap})}\n")
    assert task_of(read(clone)).says_nothing == why


def test_a_script_that_fails_is_told_with_its_last_words(clone: Path) -> None:
    (clone / "gen" / "traps.py").write_text("raise OSError('no traps')\n")
    with pytest.raises(EvaluationError, match=r"its repairs cannot be read: [\s\S]*no traps"):
        read(clone)
