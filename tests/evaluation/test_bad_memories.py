"""Whatever a memory does, it ends in one sentence with a place, costs its own user alone, and never raises a score."""

import asyncio
import gc
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from pipelines.evaluation.errors import EvaluationError
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.hosting import CodeThread, MemoryFailed, MemoryHost
from pipelines.evaluation.memories.check import check_memory
from pipelines.evaluation.memories.registry import find_memory, source_digest
from pipelines.evaluation.report.markdown import run_report
from pipelines.experiments.ranking import best_first, leaderboard, ranks
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.evaluation.test_memories import tools
from tests.support.coroutines import run
from tests.support.waiting import LONG, until

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
    "Hangs": "not done with 'recall' after 4 seconds",
    "Blocks": "not done with 'recall' after 4 seconds",
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


def deadline_of(name: str) -> float:
    """Seconds: few where a call never ends, but more than a busy machine takes for those before it."""
    return 4 if name in ("Hangs", "Blocks") else LONG


def evaluated(name: str, folder: Path) -> FinishedRun:
    """A run of the memory of this name on one user."""
    work = run_of(folder, HonestModel(), data=tasks("ada"), spec=find_memory(f"{FILE}:{name}"), conditions=(), baselines=False)
    return finish(replace(work, deadline=deadline_of(name)))


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
    verdicts = run(check_memory(spec, tools(HonestModel()), deadline=deadline_of(name)))

    assert verdicts[-1].broken
    assert LEAKING.get(name, "Memory") in verdicts[-1].sentence


def test_a_plain_memory_without_fork_passes_and_is_written_anew_for_each_copy(tmp_path: Path) -> None:
    spec = find_memory(f"{FILE}:Plain")
    verdicts = run(check_memory(spec, tools(HonestModel())))

    assert [verdict.what for verdict in verdicts if verdict.broken] == []
    assert evaluated("Plain", tmp_path).results.metrics["overall"].value == 1


@pytest.mark.parametrize(
    ("code", "reason"), [("1 / 0", "ZeroDivisionError"), ("{}['a']", "KeyError"), ("raise SystemExit(3)", "SystemExit")]
)
def test_a_file_that_fails_while_it_is_imported_is_told_in_one_sentence(code: str, reason: str, tmp_path: Path) -> None:
    path = tmp_path / f"fails_with_{reason.lower()}.py"
    path.write_text(f"{code}\nclass Mine: ...\n", encoding="utf-8")
    with pytest.raises(EvaluationError, match=f"has no usable class 'Mine': {reason}"):
        source_digest(f"{path}:Mine")


@pytest.mark.parametrize("value", ["5", "None", "Good()"])
def test_a_name_that_is_no_class_is_told(value: str, tmp_path: Path) -> None:
    path = tmp_path / f"holds_{value.strip('()').lower()}.py"
    path.write_text(f"class Good: ...\nmine = {value}\n", encoding="utf-8")
    with pytest.raises(EvaluationError, match="has no usable class 'mine': it is a value of type"):
        source_digest(f"{path}:mine")


def test_methods_and_errors_that_fail_themselves_are_errors_of_the_memory() -> None:
    class Unsaid(Exception):
        def __str__(self) -> str:
            raise ValueError

    class Hides:
        @property
        def write(self) -> object:
            raise Unsaid

    async def made() -> None:
        await MemoryHost.of_others("hides", lambda _: Hides(), tools(HonestModel())).new_memory()

    with pytest.raises(MemoryFailed, match=r"failed in 'write': .*Unsaid"):
        run(made())


def test_edited_code_is_another_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("class Mine: ...\n", encoding="utf-8")
    before = source_digest(f"{path}:Mine")
    path.write_text("class Mine: '''changed'''\n", encoding="utf-8")

    assert source_digest(f"{path}:Mine") != before


def test_the_same_command_tries_only_users_with_errors_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, spec = HonestModel(), find_memory(f"{FILE}:CrashesOnAFullDisk")
    monkeypatch.setenv("DISK_IS_FULL", "yes")
    assert len(finish(run_of(tmp_path, HonestModel(), spec=spec)).results.errors) == 2
    monkeypatch.delenv("DISK_IS_FULL")
    again = finish(run_of(tmp_path, asked, spec=spec))

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


def test_equal_scores_share_a_rank(tmp_path: Path) -> None:
    alike = [finish(run_of(tmp_path, HonestModel(), attempt=attempt)) for attempt in range(2)]
    assert set(ranks(best_first(alike)).values()) == {"1"}


def test_a_sleeping_memory_holds_up_nobody_else() -> None:
    asleep, woken = threading.Event(), threading.Event()

    class Sleeps:
        def write(self, events: object) -> None: ...

        def recall(self, query: str, *, tokens: int) -> list[str]:
            asleep.set()
            return ["woken"] if woken.wait(LONG) else []

    async def both() -> list[str]:
        host = MemoryHost.of_others("sleeps", lambda _: Sleeps(), tools(HonestModel()))
        memory = await host.new_memory()
        recalling = asyncio.ensure_future(memory.recall("boat", tokens=100))
        await until(asleep.is_set)
        woken.set()
        try:
            return await recalling
        finally:
            host.close()

    assert run(both()) == ["woken"]


def test_a_call_that_waits_behind_a_sleeping_memory_is_ended_with_its_thread() -> None:
    asleep, woken = threading.Event(), threading.Event()

    def sleep() -> None:
        asleep.set()
        woken.wait(LONG)

    async def both() -> threading.Thread:
        before = set(threading.enumerate())
        thread = CodeThread()
        [started] = set(threading.enumerate()) - before
        sleeping = asyncio.ensure_future(thread.call(sleep))
        await until(asleep.is_set)
        waiting = asyncio.ensure_future(thread.call(sleep))
        await asyncio.sleep(0)  # which hands the call over to the thread
        for one in (sleeping, waiting):
            one.cancel()
        await asyncio.wait([sleeping, waiting])
        thread.close()
        return started

    started = run(both())
    woken.set()
    started.join(LONG)
    assert not started.is_alive()
    gc.collect()  # a coroutine that was never awaited says so now
