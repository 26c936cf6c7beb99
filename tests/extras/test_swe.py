"""Rows of SWE-bench's form for real: mini-swe-agent's environments, repositories of our own, and pytest as the grade."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from assets.isolation.boundary import available_kind
from assets.llm.actions import CUT
from assets.llm.ports import ModelReply, ModelRequest
from pipelines.agents.swe_world import FOLDER, SweWorld, Workspace, failed_tests
from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.swe import RepositoryTask, read_swe_tasks
from pipelines.evaluation.acted.world_tasks import WorldTasks
from pipelines.evaluation.verifying.graded import GradedQuestions
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import finish, run_of

WRONG = "def total(numbers):\n    return sum(numbers) - 1\n"
RIGHT = WRONG.replace(" - 1", "")
PATCH = """--- a/sums.py
+++ b/sums.py
@@ -1,2 +1,2 @@
 def total(numbers):
-    return sum(numbers) - 1
+    return sum(numbers)
"""
TEST_PATCH = """--- /dev/null
+++ b/test_sums.py
@@ -0,0 +1,5 @@
+from sums import total
+
+
+def test_total():
+    assert total([1, 2]) == 3
"""
REPAIR = "sed -i 's/ - 1//' sums.py"


def git(folder: Path, *words: str) -> str:
    settings = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    return subprocess.run(["git", "-C", str(folder), *settings, *words], check=True, capture_output=True, text=True).stdout


@pytest.fixture
def rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A row whose repository lies beside the file of rows; commands of an agent are trusted here."""
    monkeypatch.setenv("AMEMGYM_TRUST_PACKAGES", "1")
    monkeypatch.setenv("A_KEY_OF_MINE", "sk-very-secret")
    folder = tmp_path / "repositories" / "ada" / "sums"
    folder.mkdir(parents=True)
    (folder / "sums.py").write_text(WRONG)
    git(folder, "init", "-q")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Sums")
    return {
        "instance_id": "ada__sums-1",
        "repo": "ada/sums",
        "base_commit": git(folder, "rev-parse", "HEAD").strip(),
        "problem_statement": "total([1, 2]) is 2.",
        "patch": PATCH,
        "test_patch": TEST_PATCH,
        "FAIL_TO_PASS": json.dumps(["test_sums.py::test_total"]),
        "PASS_TO_PASS": [],
    }


def read(tmp_path: Path, row: dict[str, Any]) -> WorldTasks:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n")
    return read_swe_tasks(f"swe:{path}")


def task_of(tasks: WorldTasks) -> RepositoryTask:
    (task,) = tasks.chains[0].tasks
    assert isinstance(task, RepositoryTask)
    return task


@dataclass
class Shell:
    """A model that runs these commands one after another, and then finishes. It knows those as run that it can read of."""

    commands: Sequence[str]

    async def complete(self, request: ModelRequest) -> ModelReply:
        read = "\n".join(message.content for message in request.messages)
        action: dict[str, Any] = {"action": "finish", "tool": None, "arguments": [], "text": None}
        for command in self.commands:
            if command not in read:
                given = [{"name": "command", "value": command}]
                action = {"action": "call", "tool": "bash", "arguments": given, "text": None}
                break
        return ModelReply(text=json.dumps(action), finish="stop", input_tokens=10, output_tokens=2)


def test_what_left_the_window_reaches_the_memory_which_is_asked_before_each_step(tmp_path: Path, rows: dict[str, Any]) -> None:
    model = Shell(["cat sums.py", "ls", REPAIR])
    done = finish(run_of(tmp_path, model, data=read(tmp_path, rows), spec=find_memory("full-history"), window=30))
    with_memory = next(figures for figures in done.results.own if figures.value == "question")
    assert (with_memory["passed"].value, with_memory["fired"].value) == (1, 1.0)
    assert (with_memory["asked"].value or 0) >= len(model.commands)
    (row,) = [row for row in done.answers if row.kind == "facts"]
    assert any("sums.py" in text for text in row.memories)


def run_with(tmp_path: Path, tasks: WorldTasks, commands: Sequence[str], **options: Any) -> dict[str, str]:
    """Evaluate with every condition; return what each came to, after a check that it is graded the same again."""
    work = run_of(tmp_path, Shell(commands), data=tasks, spec=find_memory("full-history"), **options)
    done = finish(work)
    assert not done.results.errors, done.results.errors
    questions = GradedQuestions(tasks.timelines(done.manifest))
    for row in done.answers:
        again = questions.grade(row.model_copy(update={"status": "unscored", "given": ""}))
        assert again == row
    return {row.kind: row.given for row in done.answers}


def test_a_repair_passes_in_every_condition_and_can_be_graded_again(tmp_path: Path, rows: dict[str, Any]) -> None:
    given = run_with(tmp_path, read(tmp_path, rows), ["cat sums.py", REPAIR], arms=True)
    assert given == dict.fromkeys(("question", "no_memory", "facts", "everything", "placebo"), "passes")


@pytest.mark.parametrize(
    ("commands", "given"),
    [
        (["cat sums.py"], "nothing was changed"),
        (["echo 'def total(numbers): return 7' > sums.py"], "1 of 1 tests, among them test_sums.py::test_total, failed"),
        (["touch test_sums.py"], "1 of 1 tests, among them test_sums.py::test_total, failed"),
    ],
)
def test_what_is_no_repair_fails(tmp_path: Path, rows: dict[str, Any], commands: list[str], given: str) -> None:
    assert run_with(tmp_path, read(tmp_path, rows), commands, conditions=()) == {"question": given}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"patch": ""}, "with its own patch 1 of 1 tests, among them test_sums.py::test_total, failed"),
        ({"patch": PATCH.replace("sum(numbers) - 1", "nothing")}, "with its own patch its patch does not apply failed"),
        ({"test_patch": TEST_PATCH.replace("3", "2")}, "with its own patch 1 of 1 tests"),
        ({"test_patch": "--- a/no.py\n+++ b/no.py\n@@ -1 +1 @@\n-a\n+b\n"}, "has a test_patch that does not apply"),
        ({"base_commit": "0" * 40}, "cannot be copied at 0000"),
    ],
)
def test_a_row_that_says_nothing_here_is_one_error_row(
    tmp_path: Path, rows: dict[str, Any], changes: dict[str, str], said: str
) -> None:
    done = finish(
        run_of(tmp_path, Shell([]), data=read(tmp_path, {**rows, **changes}), spec=find_memory("none"), conditions=())
    )
    (error,) = done.results.errors
    assert said in error.sentence


def test_a_patch_that_does_not_apply_fails_and_is_no_error(tmp_path: Path, rows: dict[str, Any]) -> None:
    row = task_of(read(tmp_path, rows)).row
    assert failed_tests(row, "no patch at all\n") == "its patch does not apply"
    assert failed_tests(row, "x" * 500_001) == "its patch has more than 500,000 characters"


def test_commands_see_no_key_of_ours_and_are_bounded_in_time_and_output(tmp_path: Path, rows: dict[str, Any]) -> None:
    workspace = Workspace(task_of(read(tmp_path, rows)).row)
    world = SweWorld(workspace)
    assert "sk-very-secret" not in world.call("bash", {"command": "env"})
    assert world.call("bash", {"command": "pwd"}).strip() == f"exit code 0\n{FOLDER}"
    much = world.call("bash", {"command": "yes"})
    assert len(much) < 20_000 - len(CUT)
    assert "characters left out" in much
    code, said = workspace.run("sleep 60", seconds=1)
    assert code == -1
    assert "It took longer than 1 seconds" in said
    assert world.call("bash", {"command": ""}).startswith("Refused: give a command")
    assert world.call("fly", {}).startswith("Refused: there is no tool 'fly'")
    workspace.close()


def test_rows_without_a_repository_need_docker(tmp_path: Path, rows: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MSWEA_DOCKER_EXECUTABLE", str(tmp_path / "docker"))
    with pytest.raises(EvaluationError, match="a running Docker is needed for the images of these rows"):
        read(tmp_path, {**rows, "repo": "ada/others"})


def test_without_a_sandbox_nothing_runs_unless_it_is_trusted(
    tmp_path: Path, rows: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AMEMGYM_TRUST_PACKAGES")
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    available_kind.cache_clear()
    with pytest.raises(EvaluationError, match="install bubblewrap"):
        read(tmp_path, rows)
    available_kind.cache_clear()


def test_no_settings_of_the_package_are_loaded_or_made() -> None:
    code = (
        "import os, sys; from pipelines.agents.swe_world import swe_module; before = dict(os.environ); "
        "swe_module('environments.local'); assert dict(os.environ) == before; sys.exit('litellm' in sys.modules)"
    )
    home = {**os.environ, "HOME": "/nonexistent"}
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, env=home)
    assert (done.returncode, done.stdout) == (0, b"")
