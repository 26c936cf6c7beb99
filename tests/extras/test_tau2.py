"""tau2-bench for real: its environments and graders, an agent and a user that are programs, and a memory between them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipelines.agents.tau2_world import DOMAINS, Tau2Task, Tau2World, argument_text, tau2_tasks
from pipelines.evaluation.acted.tau2 import LEFT_OUT, read_tau2_tasks
from pipelines.evaluation.folder import find_run, read_run, runs_folder
from pipelines.evaluation.verifying.graded import GradedQuestions
from pipelines.home import Home
from tests.support.commands import amemgym_here

# All 287 tasks take over two minutes; `make test-tau2` plays them all.
EVERY = 1 if os.environ.get("AMEMGYM_TAU2") == "all" else {"airline": 10, "retail": 16, "telecom": 4, "mock": 1}


def act_gold(world: Tau2World) -> None:
    """Make the right calls, and say what has to be said."""
    for call in world.task.gold:
        arguments = {name: argument_text(value) for name, value in call.arguments.items()}
        world.call_tool(call.tool, arguments, by_user=call.by_user)
    world.say(" ".join(["That is done.", *world.task.values_to_tell]))


def some_tasks() -> list[Tau2Task]:
    chosen: list[Tau2Task] = []
    for domain in DOMAINS:
        step = EVERY if isinstance(EVERY, int) else EVERY[domain]
        chosen += tau2_tasks(domain)[::step]
    return chosen


@pytest.mark.parametrize("task", some_tasks(), ids=lambda task: f"{task.domain} {task.task_id}")
def test_the_right_calls_pass_and_doing_nothing_fails_but_where_we_say_so(task: Tau2Task) -> None:
    left_out = LEFT_OUT[task.domain].get(task.task_id, "")
    idle = Tau2World(task)
    idle.begin("Hello.")
    idle.say("I am sorry.")
    assert (idle.failed_by == "") == (left_out == "pass for doing nothing")
    if not left_out:
        right = Tau2World(task)
        right.begin("Hello.")
        act_gold(right)
        assert right.failed_by == ""


def test_every_task_is_there_and_those_left_out_are_named() -> None:
    assert [len(tau2_tasks(domain)) for domain in DOMAINS] == [50, 9, 114, 114]
    assert [len(LEFT_OUT[domain]) for domain in DOMAINS] == [19, 2, 7, 0]
    left_out, in_words = read_tau2_tasks("tau2:retail").info.notices
    assert in_words == "8 tasks also say in words what should hold; tau2's reward does not read it, and nobody is asked."
    assert left_out == "Left out of 114 tasks, because they pass for doing nothing: 10, 12, 25, 50, 57, 65, 105."


def test_what_is_wrong_is_told_to_the_agent_and_changes_nothing() -> None:
    world = Tau2World(tau2_tasks("retail")[0])
    before = world.environment.get_db_hash()
    assert world.call("fly", {}) == "Refused: there is no tool 'fly'."
    assert world.call("get_order_details", {"number": "1"}).startswith("Refused: get_order_details has no argument 'number'")
    assert world.call("calculate", {"expression": "9**9**9"}) == "Refused: a calculation has + - * / and parentheses only."
    assert world.call("get_order_details", {"order_id": "#W0"}).startswith("Refused: Error:")
    exchange = {"order_id": "#W2378156", "item_ids": "[" * 100_000, "new_item_ids": "[]", "payment_method_id": "x"}
    assert world.call("exchange_delivered_order_items", exchange).startswith("Refused: Error:")
    airline = Tau2World(tau2_tasks("airline")[0])
    assert airline.call("send_certificate", {"user_id": "u", "amount": "1e400"}).startswith("Refused: amount is no number")
    assert world.environment.get_db_hash() == before


def test_the_model_side_of_the_package_is_never_imported() -> None:
    code = (
        "import sys; from tests.extras.test_tau2 import *; world = Tau2World(tau2_tasks('telecom')[0]); "
        "world.begin('Hello.'); act_gold(world); assert world.failed_by == ''; sys.exit('litellm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_conditions_differ_because_what_left_the_window_can_or_cannot_be_read(tmp_path: Path) -> None:
    words = (
        "--memory",
        "full-history",
        "--users",
        "2",
        "--set",
        "arms=all",
        "--set",
        "window=1500",
        "--tokens",
        "6000",
        "--quiet",
    )
    status, output = amemgym_here(tmp_path, "evaluate", "tau2:retail", *words)
    assert status == 0, output
    runs = runs_folder(Home(tmp_path))
    run = read_run(next(runs.iterdir()).name, runs=runs)
    right: dict[str, int] = {}
    for row in run.answers:
        right[row.kind] = right.get(row.kind, 0) + (row.status == "right")
    assert right == {"question": 2, "no_memory": 0, "facts": 2, "everything": 2, "placebo": 0}
    questions = GradedQuestions(read_tau2_tasks("tau2:retail").timelines(run.manifest))
    for row in run.answers:
        again = questions.grade(row.model_copy(update={"status": "unscored", "given": ""}))
        assert again == row


@pytest.mark.parametrize("recall_at", ["tool", "write"])
def test_a_chain_carries_a_memory_from_task_to_task(tmp_path: Path, recall_at: str) -> None:
    words = ("--memory", "bm25", "--users", "1", "--conditions", "none", "--set", f"recall_at={recall_at}", "--json", "--quiet")
    status, output = amemgym_here(tmp_path, "evaluate", "tau2:airline-chained", *words)
    assert status == 0, output
    runs = runs_folder(Home(tmp_path))
    run = read_run(find_run(next(runs.iterdir()).name, runs=runs).name, runs=runs)
    chain = [row for row in run.answers if row.kind == "question"]
    assert len({row.item for row in chain}) == len(chain) > 1
    assert {row.user_id for row in chain} == set(run.manifest.users)


def test_mock_ends_well_without_a_key(tmp_path: Path) -> None:
    status, output = amemgym_here(tmp_path, "evaluate", "tau2:mock", "--memory", "bm25")
    assert status == 0, output
    assert "Left out of 9 tasks, because they pass for doing nothing: create_task_1_nl_eval." in output
