"""Rows of SWE-bench and clones of sde-bench that cannot be used: one sentence each, before anything is asked."""

import json
from pathlib import Path
from typing import Any

import pytest

from pipelines.errors import EvaluationError
from pipelines.evaluation.acted.sde import HOST, read_sde_tasks
from pipelines.evaluation.acted.swe import read_swe_tasks
from tests.support.commands import amemgym_here

ROW: dict[str, Any] = {
    "instance_id": "ada__sums-1",
    "repo": "ada/sums",
    "base_commit": "4b825dc",
    "problem_statement": "It is wrong.",
    "patch": "",
    "test_patch": "",
    "FAIL_TO_PASS": '["test_sums.py::test_sum"]',
    "PASS_TO_PASS": [],
}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "has no rows; it is to be a list of objects with instance_id"),
        ("{", "cannot be read as rows of SWE-bench"),
        (json.dumps([{**ROW, "FAIL_TO_PASS": 3}]), "has tests that are no list of names"),
        (json.dumps([{**ROW, "FAIL_TO_PASS": "[test"}]), "has tests that are no list of names"),
        (json.dumps([{**ROW, "repo": "../home"}]), "and the repo '../home'; write them as SWE-bench does"),
        (json.dumps([{**ROW, "base_commit": "--orphan"}]), "has the base_commit '--orphan'; give the commit's digest"),
        (json.dumps([{**ROW, "image_name": "--volume=/:/host"}]), "has the image '--volume=/:/host'; give a name"),
        (json.dumps([{**ROW, "docker_image": "a b"}]), "has the image 'a b'"),
        (
            json.dumps([{**ROW, "test_patch": "+++ b/../../key\n"}]),
            "Row 1 of .* cannot be used: '../../key' does not lie inside",
        ),
        (json.dumps([{**ROW, "FAIL_TO_PASS": ["/etc/x.py::test_x"]}]), "cannot be used: '/etc/x.py' does not lie inside"),
        (json.dumps([{**ROW, "PASS_TO_PASS": ["--rootdir=/::test_x"]}]), "'--rootdir=/' does not lie inside"),
        (json.dumps([{"instance_id": "a"}]), "Row 1 of .* has no repo; a row of SWE-bench has instance_id"),
        (json.dumps([ROW, ROW]), "has two rows of ada__sums-1"),
        (json.dumps([{**ROW, "FAIL_TO_PASS": ["test_it (a.Test)"]}]), "has no row whose tests are pytest's"),
    ],
)
def test_rows_that_cannot_be_used_are_refused_with_a_sentence(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "rows.json"
    path.write_text(text)
    with pytest.raises(EvaluationError, match=said):
        read_swe_tasks(f"swe:{path}")


def test_a_repository_that_is_a_link_to_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "repositories" / "ada").mkdir(parents=True)
    (tmp_path / "repositories" / "ada" / "sums").symlink_to(tmp_path / "private")
    (tmp_path / "rows.json").write_text(json.dumps([ROW]))
    with pytest.raises(EvaluationError, match="ada/sums' is a link, or lies behind one, that leads out of"):
        read_swe_tasks(f"swe:{tmp_path / 'rows.json'}")


def test_a_broken_line_is_told_by_its_number(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"{json.dumps(ROW)}\n\n{{bad\n")
    with pytest.raises(EvaluationError, match=r"rows of SWE-bench: line 3: Expecting property name [^:]*\.$"):
        read_swe_tasks(f"swe:{path}")


def test_no_file_is_asked_for() -> None:
    with pytest.raises(EvaluationError, match="swe: names no file; give one"):
        read_swe_tasks("swe:")


@pytest.mark.parametrize("name", ["rows.json", "rows.jsonl", "rows.parquet"])
def test_a_file_that_is_not_there_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(EvaluationError, match="cannot be read as rows of SWE-bench"):
        read_swe_tasks(f"swe:{tmp_path / name}")


def test_a_missing_package_is_named_with_what_installs_it(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n")
    status, output = amemgym_here(tmp_path, "evaluate", f"swe:{path}", "--memory", "bm25")
    assert status == 1
    assert "mini-swe-agent is not installed" in output
    assert "pip install --no-deps mini-swe-agent==2.4.6" in output


BUG = "def budget():\n    return 5\n"
RIGHT = BUG.replace("5", "7")
NAIVE = BUG.replace("5", "6")
TEST = "from retries.budget import budget\n\n\ndef test_it():\n    assert budget() {}\n"
SCRIPT = """import shutil, subprocess, sys
from os import environ
from pathlib import Path

REF = "{commit}"
out = Path(sys.argv[1])
shutil.copytree(environ["SDEBENCH_BOLTONS_HOST"], out)
(out / "retries").mkdir()
(out / "retries" / "__init__.py").write_text("")
(out / "retries" / "budget.py").write_text({bug!r})
(out / "tests" / "test_budget.py").write_text({test!r})
git = ["git", "-C", str(out), "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
subprocess.run([*git, "add", "-A"], check=True)
subprocess.run([*git, "commit", "-qm", "Budget"], check=True)
"""
SDE_TASK: dict[str, Any] = {
    "task_id": "boltons-budget-001",
    "codebase": "boltons-budget",
    "source": "conversation",
    "tier": "planted",
    "module": "retries/budget.py",
    "bug_report": "We retry too rarely.",
    "fail_to_pass": ["tests/test_regression.py"],
    "pass_to_pass": ["tests/test_budget.py"],
    "hidden_to_pass": ["tests/test_hidden.py"],
    "regression_test_file": "regression_test.py",
    "hidden_test_file": "hidden_test.py",
    "conversations": [{"role": "user", "text": "Seven, and no more."}, {"role": "assistant", "text": "Settled."}],
}


def write_clone(folder: Path, *, commit: str = "0" * 40, **changes: Any) -> Path:
    """A clone with a task that a chat decided, and one that the history did."""
    for codebase in ("boltons-budget", "boltons-budget-history"):
        tests = folder / codebase / "tasks" / "main"
        tests.mkdir(parents=True)
        task = {**SDE_TASK, "codebase": codebase, "task_id": f"{codebase}-001", **changes}
        if codebase.endswith("history"):
            del task["conversations"]
        (tests / "task.json").write_text(json.dumps(task))
        (tests / "regression_test.py").write_text(TEST.format("> 5"))
        (tests / "hidden_test.py").write_text(TEST.format("== 7"))
        script = SCRIPT.format(commit=commit, bug=BUG, test=TEST.format("> 0"))
        (folder / codebase / "build.py").write_text(script)
    (folder / "gen").mkdir()
    trap = {"bug": BUG, "correct": RIGHT, "naive": [NAIVE]}
    (folder / "gen" / "traps.py").write_text(f"TRAPS = {json.dumps({'budget': trap})}\n")
    (folder / "gen" / "realfn_traps.py").write_text("REALFN_TRAPS = {}\n")
    chat = {"turns": [{"role": "user", "text": "Is it fast?"}, {"role": "assistant", "text": "It is."}]}
    (folder / "gen" / "decoy_conversations.json").write_text(json.dumps([chat, chat]))
    return folder


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"hidden_test_file": "../../../key"}, "'../../../key' does not lie inside its folder"),
        ({"codebase": "/etc"}, "'/etc' does not lie inside its folder"),
        ({"conversations": "none"}, "task.json is no file of sde-bench: conversations.* has to be a list"),
        ({"conversations": []}, r"has no task with a chat at boltons-\*/tasks/main/task.json"),
        ({}, "mini-swe-agent is not installed"),
    ],
)
def test_a_clone_of_sde_bench_that_cannot_be_used_is_refused_with_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, Any], said: str
) -> None:
    folder = write_clone(tmp_path / "clone", **changes)
    monkeypatch.delenv(HOST, raising=False)
    with pytest.raises(EvaluationError, match=r"set it to a clone of https://github\.com/vectorize-io/boltons"):
        read_sde_tasks(f"sde:{folder}")
    monkeypatch.setenv(HOST, str(tmp_path))
    with pytest.raises(EvaluationError, match=said):
        read_sde_tasks(f"sde:{folder}")
