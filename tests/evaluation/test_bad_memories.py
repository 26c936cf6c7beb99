"""Whatever a memory does, it ends in one sentence with a place, costs its own user alone, and never raises a score."""

import asyncio
import gc
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.hosting import CodeThread
from pipelines.evaluation.memories.check import check_memory
from pipelines.evaluation.memories.registry import find_memory, source_digest
from pipelines.evaluation.report.markdown import run_report
from pipelines.experiments.ranking import best_first, leaderboard, ranks
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.evaluation.test_memories import tools
from tests.support.coroutines import run

FILE = Path(__file__).with_name("bad_memories.py")
FAILING = {
    "CrashesAtFirst": "failed in '__init__': RuntimeError: no disk",
    "CrashesInWrite": "failed in 'write': KeyError: 'boat'",
    "CrashesInRecall": "failed in 'recall': IndexError",
    "CrashesInFork": "failed in 'fork': OSError: no space left",
    "LeavesTheProcess": "tried to end the process (SystemExit: 3)",
    "GivesNothing": "gave NoneType from 'recall'; it must be a list of texts",
    "GivesLetters": "gave str from 'recall'; it must be a list of texts",
    "GivesNumbers": "gave int from 'recall' where a text must stand",
    "GivesSurrogates": "half of a surrogate pair from 'recall'",
    "Hangs": "not done with 'recall' after 0.2 seconds",
    "Blocks": "not done with 'recall' after 0.2 seconds",
    "IsItsOwnFork": "gave itself as its fork",
    "ForksToNothing": "gave nothing as its fork",
    "HasNoRecall": "has no method 'recall'",
}
LEAKING = {
    "SharesItsLines": "its fork sees what was written later",
    "ForgetsInFork": "its fork has forgotten",
    "SharesAcrossUsers": "a new memory recalls what another one was told",
    "RemembersQuestions": "recalling changes what it recalls",
}


def evaluated(name: str, folder: Path, *, deadline: float = 0.2) -> FinishedRun:
    """A run of the memory of this name on one user."""
    work = run_of(folder, HonestModel(), data=tasks("ada"), spec=find_memory(f"{FILE}:{name}"), conditions=(), baselines=False)
    return finish(replace(work, deadline=deadline))


@pytest.mark.parametrize("name", FAILING)
def test_a_memory_that_fails_is_an_error_row_with_its_place_and_its_questions_count_as_wrong(name: str, tmp_path: Path) -> None:
    finished = evaluated(name, tmp_path)
    [error] = finished.results.errors

    assert error.item_id == "ada"
    assert error.sentence.startswith("User ada, period 0: Memory ")
    assert FAILING[name] in error.sentence
    assert finished.results.metrics["overall"].value == 0
    assert finished.results.metrics["unscored"].value == 1
    assert "Finished with errors" in run_report(finished)
    [trace] = (tmp_path / finished.manifest.run_id).glob("error-ada.txt")
    assert trace.read_text(encoding="utf-8").startswith(error.sentence)


def test_a_memory_that_crashes_on_one_of_two_users_is_right_on_half_and_what_was_not_asked_is_not_known(tmp_path: Path) -> None:
    finished = finish(run_of(tmp_path, HonestModel(), spec=find_memory(f"{FILE}:CrashesForOneUser"), curve=(500,)))
    results = finished.results
    scores = results.isolated

    assert len(results.errors) == 1
    assert results.metrics["overall"].value == 0.5
    assert scores is not None
    assert (scores.memory.value, scores.unasked * 2) == (0.5, scores.items)
    assert {scores.none.value, scores.facts.value, scores.everything.value, scores.gain.value, scores.gain_share.value} == {
        None
    }
    assert {one.value for name, one in results.metrics.items() if name.startswith("state_")} == {None}
    assert {point.overall.value for point in results.curve} == {0.5}
    assert f"({scores.unasked} of {scores.items} never asked, counted as wrong)" in run_report(finished)


@pytest.mark.parametrize("name", [*LEAKING, "GivesNothing", "Hangs"])
def test_the_check_finds_what_is_broken_in_seconds(name: str) -> None:
    spec = find_memory(f"{FILE}:{name}")
    verdicts = run(check_memory(spec, tools(HonestModel()), deadline=0.2))

    assert verdicts[-1].broken
    assert LEAKING.get(name, "Memory") in verdicts[-1].sentence


def test_a_plain_memory_without_fork_passes_and_is_written_anew_for_each_copy(tmp_path: Path) -> None:
    spec = find_memory(f"{FILE}:Plain")
    verdicts = run(check_memory(spec, tools(HonestModel())))

    assert [verdict.what for verdict in verdicts if verdict.broken] == []
    assert evaluated("Plain", tmp_path, deadline=5).results.metrics["overall"].value == 1


def test_edited_code_is_another_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("class Mine: ...\n", encoding="utf-8")
    before = source_digest(f"{path}:Mine")
    path.write_text("class Mine: '''changed'''\n", encoding="utf-8")

    assert source_digest(f"{path}:Mine") != before


def test_the_same_command_tries_only_users_with_errors_again(tmp_path: Path) -> None:
    model, asked = HonestModel(), HonestModel()
    work = run_of(tmp_path, model, spec=find_memory(f"{FILE}:Plain"))
    broken = replace(work, deadline=0.0)
    assert len(finish(broken).results.errors) == 2
    again = finish(replace(run_of(tmp_path, asked, spec=find_memory(f"{FILE}:Plain")), deadline=5))

    assert again.results.errors == ()
    assert again.results.metrics["overall"].value == 1
    assert asked.asked("evaluation_choose_with_state") == [], "the baselines were finished"
    assert not list((tmp_path / again.manifest.run_id).glob("error-*"))


def test_refusing_to_answer_neither_leads_the_board_nor_is_ranked(tmp_path: Path) -> None:
    honest = finish(run_of(tmp_path, HonestModel()))
    refusing = finish(run_of(tmp_path, HonestModel({"evaluation_choose_answer": "I would rather not."}), attempt=1))
    board = best_first([refusing, honest])

    assert board[0] is honest
    assert ranks(board)[refusing.manifest.run_id] == "-"
    assert "100.0 % (!)" in leaderboard([refusing, honest])


def test_a_sleeping_memory_holds_up_nobody_else() -> None:
    async def both() -> float:
        spec = find_memory(f"{FILE}:Blocks")
        started = asyncio.get_running_loop().time()
        checks = check_memory(spec, tools(HonestModel()), deadline=0.3), asyncio.sleep(0.01)
        await asyncio.gather(*checks)
        return asyncio.get_running_loop().time() - started

    assert run(both()) < 3


def test_a_call_that_waits_behind_a_sleeping_memory_is_ended_with_its_thread() -> None:
    async def both() -> threading.Thread:
        before = set(threading.enumerate())
        thread = CodeThread()
        [started] = set(threading.enumerate()) - before
        sleeping = asyncio.ensure_future(thread.call(time.sleep, 0.3))
        await asyncio.sleep(0.05)
        waiting = asyncio.ensure_future(thread.call(time.sleep, 0))
        await asyncio.sleep(0.05)
        for one in (sleeping, waiting):
            one.cancel()
        await asyncio.wait([sleeping, waiting])
        thread.close()
        return started

    run(both()).join(60)
    gc.collect()  # a coroutine that was never awaited says so now
