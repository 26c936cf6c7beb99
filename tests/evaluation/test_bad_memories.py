"""Whatever a memory does, it ends in one sentence with a place, costs its own user alone, and never raises a score."""

import asyncio
import gc
import json
import re
import subprocess
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from assets.isolation.boundary import available_kind
from dataset_card.amemgym.reference.data_json import data_json
from pipelines.errors import EvaluationError
from pipelines.evaluation.command import broken_promises
from pipelines.evaluation.folder import FinishedRun
from pipelines.evaluation.report.markdown import run_report
from pipelines.experiments.scoring.board_tables import leaderboard_table
from pipelines.experiments.scoring.ranking import best_first, run_groups
from pipelines.memories import check
from pipelines.memories.check import check_memory
from pipelines.memories.code_identity import code_files, source_digest
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.hosting.confinement import Confinement, host_memory
from pipelines.memories.hosting.hosted import MemoryHost
from pipelines.memories.others.code_thread import CodeThread
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel, episode, finish, run_of, tasks
from tests.evaluation.test_memories import recalled_anew, tools
from tests.support.commands import AMEMGYM, clean_environment
from tests.support.coroutines import run
from tests.support.guide import ROOT
from tests.support.waiting import LONG, until

pytestmark = pytest.mark.slow  # each memory has a process
FILE = Path(__file__).with_name("bad_memories.py")
# Its classes share this process: what they keep there, and its environment.
HERE = Confinement(in_process=True)
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
    "CancelsItself": "failed in 'recall': RuntimeError: it cancelled its own call",
    "CancelsItsTask": "failed in 'recall': RuntimeError: it cancelled its own call",
    "CancelsItsLoop": "failed in 'recall': RuntimeError: it cancelled its own call",
    "ForksToAnId": "gave a value of type str as its fork",
    "IsItsOwnFork": "gave itself as its fork",
    "ForksToNothing": "gave nothing as its fork",
    "HasNoRecall": "has no method 'recall'",
}
# They are told nothing before they fail.
NEVER_MADE = ("CrashesAtFirst", "HasNoRecall")
LEAKING = {
    "SharesItsLines": "its fork sees what was written later",
    "SharesItsStore": "its fork sees what was written later",
    "SharesItsStoreAcrossUsers": "a new memory recalls what another one was told",
    "ForgetsInFork": "its fork has forgotten",
    "ForgetsNothing": "it recalls what it was asked to forget",
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
    place = "at the beginning" if name in NEVER_MADE else "period 0"
    assert error.sentence.startswith(f"User ada, {place}: Memory ")
    assert FAILING[name] in error.sentence
    assert finished.results.metrics["overall"].value == 0
    assert finished.results.metrics["unscored"].value == 1
    assert "Finished with errors" in run_report(finished)
    [trace] = (tmp_path / finished.manifest.run_id).glob("error-ada.txt")
    assert trace.read_text(encoding="utf-8").startswith(error.sentence)


def test_a_memory_that_crashes_on_one_of_two_users_is_right_on_half_and_what_was_not_asked_is_not_known(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel(), spec=find_memory(f"{FILE}:CrashesForOneUser"), curve=(500,))
    finished = finish(replace(work, confinement=HERE))
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


def test_a_plain_memory_may_run_a_loop_of_its_own(tmp_path: Path) -> None:
    finished = evaluated("RunsALoopOfItsOwn", tmp_path)

    assert finished.results.errors == ()
    assert finished.results.metrics["overall"].value == 1


def test_a_memory_that_recalls_later_is_found_out_before_the_first_question() -> None:
    spec = find_memory(f"{FILE}:ComesAtTheSecondLook")
    verdicts = run(check_memory(spec, tools(HonestModel())))

    assert verdicts[-1].broken
    assert "recalls only after" in verdicts[-1].sentence
    assert re.search(r"evaluate with --set settle=\d+\.", verdicts[-1].sentence)


@pytest.mark.parametrize(
    ("source", "waits"),
    [("Plain", False), ("Plain?network=true", True), ("HasAThread", True), ("HasATask", True), ("HasAChild", True)],
)
def test_a_memory_may_come_later_that_has_something_in_its_background_or_beyond_its_network(source: str, waits: bool) -> None:
    async def has_background() -> bool:
        host = host_memory(find_memory(f"{FILE}:{source}"), tools(HonestModel()))
        try:
            await (await host.new_memory()).recall("boat", tokens=100)
            assert host.place is not None
            return host.place.has_background
        finally:
            await host.close()

    # Without a boundary, the network is open to each.
    assert run(has_background()) == (waits or available_kind() == "none")


@pytest.mark.skipif(available_kind() == "none", reason="without a boundary, each is waited for")
def test_the_check_says_that_it_did_not_wait_for_a_memory_that_recalls_nothing() -> None:
    verdicts = run(check_memory(find_memory(f"{FILE}:RecallsNothing"), tools(HonestModel())))

    assert [verdict.word for verdict in verdicts] == ["not tried"] * 6 + ["warns"], "nothing shows what its copies see"
    assert "did not recall what it had been told" in verdicts[-1].sentence
    assert "it was not waited for" in verdicts[-1].sentence


def test_the_check_says_how_long_it_waited_for_a_memory_that_works_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check, "LAG_SECONDS", 0.3)
    verdicts = run(check_memory(find_memory(f"{FILE}:RecallsNothing"), tools(HonestModel()), confinement=HERE))

    assert not verdicts[-1].broken
    assert "longer than 0.3 seconds, the option settle" in verdicts[-1].sentence


@pytest.mark.parametrize(("name", "settle"), [("ComesLater", 0.1), ("SettlesItself", 0.0), ("SettlesItself", 0.01)])
def test_a_memory_that_recalls_later_is_right_with_the_seconds_that_it_takes_or_with_settle(
    name: str, settle: float, tmp_path: Path
) -> None:
    spec = find_memory(f"{FILE}:{name}")
    finished = finish(
        run_of(tmp_path, HonestModel(), data=tasks("ada"), spec=spec, conditions=(), baselines=False, settle=settle)
    )

    assert [one.broken for one in run(check_memory(spec, tools(HonestModel()), settle=settle)) if one.broken] == []
    assert finished.manifest.settle == settle
    assert finished.results.errors == ()
    assert finished.results.metrics["overall"].value == 1


def test_a_run_stops_where_the_canary_does_not_come_back_in_time(tmp_path: Path) -> None:
    spec = find_memory(f"{FILE}:ComesLater?lag=1000")
    with pytest.raises(
        EvaluationError, match=r"does not recall after 0\.01 seconds what it is told, .*; raise the option settle"
    ):
        finish(run_of(tmp_path, HonestModel(), data=tasks("ada"), spec=spec, settle=0.01))
    with pytest.raises(EvaluationError, match=r"does not recall after 0\.01 seconds"):
        run(check_memory(spec, tools(HonestModel()), settle=0.01))
    assert not list(tmp_path.glob("*/results.json"))


def test_settling_is_no_part_of_the_run_of_a_built_in_memory(tmp_path: Path) -> None:
    settling = run_of(tmp_path, HonestModel(), settle=5.0).manifest
    assert (settling.settle, settling.run_id) == (0.0, run_of(tmp_path, HonestModel()).manifest.run_id)


def test_calls_that_wait_for_their_turn_are_not_late_and_behind_a_late_one_all_end() -> None:
    async def recalls(name: str, deadline: float) -> list[object]:
        host = host_memory(find_memory(f"{FILE}:{name}"), tools(HonestModel()))
        memory = await host.new_memory()
        host.deadline = deadline
        found = await asyncio.gather(*(memory.recall("boat", tokens=100) for _ in range(12)), return_exceptions=True)
        await host.close()
        return list(found)

    assert run(recalls("IsSlow", 2)) == [[]] * 12, "they take 2.4 seconds together"
    assert {str(late) for late in run(recalls("Blocks", 0.2))} == {
        "Memory 'Blocks' was not done with 'recall' after 0.2 seconds."
    }


def test_what_lies_behind_the_budget_is_not_looked_at() -> None:
    assert recalled_anew(f"{FILE}:GivesAFarSurrogate", tokens=3)[0].split() == ["word"] * 3


def test_the_process_of_a_memory_that_prints_and_leaves_threads_ends_with_json_alone_on_standard_output(tmp_path: Path) -> None:
    data = tmp_path / "data.json"
    data.write_bytes(data_json([episode("ada")]))
    words = (
        "evaluate",
        str(data),
        "--memory",
        f"{FILE}:PrintsAndLeavesThreads",
        "--set",
        "in_process=true",
        "--conditions",
        "",
        "--json",
    )
    ended = subprocess.run(
        [*AMEMGYM, *words], env=clean_environment(tmp_path / "home"), capture_output=True, text=True, timeout=5 * LONG
    )

    assert ended.returncode == 0, ended.stderr
    [found] = json.loads(ended.stdout)["runs"]
    assert found["results"]["errors"] == []
    assert {"a memory is made", "a memory is made by a shell", "recalling"} <= set(ended.stderr.splitlines())


@pytest.mark.parametrize("name", [*LEAKING, "GivesNothing"])
def test_the_check_finds_what_is_broken_in_seconds(name: str) -> None:
    spec = find_memory(f"{FILE}:{name}")
    verdicts = run(check_memory(spec, tools(HonestModel()), deadline=LONG))

    assert verdicts[-1].broken
    assert LEAKING.get(name, "Memory") in verdicts[-1].sentence


@pytest.mark.parametrize("name", ["BestFirst", "NewestFirst"])
def test_the_check_warns_of_an_order_in_which_an_older_statement_is_read_last(name: str) -> None:
    verdicts = run(check_memory(find_memory(f"{FILE}:{name}"), tools(HonestModel()), confinement=HERE))

    assert [(verdict.word, verdict.what.partition(":")[0]) for verdict in verdicts if verdict.sentence] == [("warns", "order")]


def test_the_memory_of_the_guide_gives_texts_back_in_order_of_time(tmp_path: Path) -> None:
    page = (ROOT / "pipelines/guide/score/memory.md").read_text(encoding="utf-8")
    source = tmp_path / "mine.py"
    source.write_text(page.partition("```python\n")[2].partition("```")[0], encoding="utf-8")
    verdicts = run(check_memory(find_memory(f"{source}:RareWords"), tools(HonestModel()), confinement=HERE))

    assert [verdict.sentence for verdict in verdicts] == [""] * len(verdicts)


def test_the_check_before_a_run_keeps_to_the_deadline_of_the_run(tmp_path: Path) -> None:
    work = run_of(tmp_path, HonestModel(), data=tasks("ada"), spec=find_memory(f"{FILE}:Hangs"), conditions=())
    [broken] = run(broken_promises(replace(work, deadline=deadline_of("Hangs")), notice=print))

    assert "was not done with" in broken
    assert "after 4 seconds" in broken


def test_a_plain_memory_without_fork_passes_and_is_written_anew_for_each_copy(tmp_path: Path) -> None:
    spec = find_memory(f"{FILE}:Plain")
    verdicts = run(check_memory(spec, tools(HonestModel())))

    assert [verdict.sentence for verdict in verdicts] == [""] * len(verdicts), "that it gives all is no fault: the runner cuts"
    untried = [(verdict.word, verdict.untried) for verdict in verdicts if verdict.untried]
    assert untried == [("not tried", check.NO_FORGET)]
    assert evaluated("Plain", tmp_path).results.metrics["overall"].value == 1


@pytest.mark.parametrize("in_process", [False, True])
@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("1 / 0\nclass Mine: ...", "ZeroDivisionError"),
        ("raise SystemExit(3)\nclass Mine: ...", "SystemExit"),
        ("Mine = 5", "it is a value of type int"),
        ("Mine = None", "it is a value of type NoneType"),
    ],
)
def test_a_file_without_a_usable_class_is_told_in_one_sentence(
    code: str, reason: str, in_process: bool, tmp_path: Path
) -> None:
    path = tmp_path / f"holds_{len(code)}.py"
    path.write_text(f"{code}\n", encoding="utf-8")

    with pytest.raises((EvaluationError, MemoryFailed), match=f"has no usable class 'Mine': {reason}"):
        recalled_anew(f"{path}:Mine", given=Confinement(in_process))


def test_methods_and_errors_that_fail_themselves_are_errors_of_the_memory() -> None:
    class Unsaid(Exception):
        def __str__(self) -> str:
            raise ValueError

    class Hides:
        @property
        def write(self) -> object:
            raise Unsaid

    async def made() -> None:
        await MemoryHost.in_thread("hides", lambda _: Hides(), tools(HonestModel())).new_memory()

    with pytest.raises(MemoryFailed, match=r"failed in 'write': .*Unsaid"):
        run(made())


def test_edited_code_is_another_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("class Mine: ...\n", encoding="utf-8")
    before = source_digest(code_files(f"{path}:Mine"))
    path.write_text("class Mine: '''changed'''\n", encoding="utf-8")

    assert source_digest(code_files(f"{path}:Mine")) != before


def test_the_same_command_tries_only_users_with_errors_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, spec = HonestModel(), find_memory(f"{FILE}:CrashesOnAFullDisk")
    monkeypatch.setenv("DISK_IS_FULL", "yes")
    first = replace(run_of(tmp_path, HonestModel(), spec=spec), confinement=HERE)
    assert len(finish(first).results.errors) == 2
    monkeypatch.delenv("DISK_IS_FULL")
    again = finish(replace(run_of(tmp_path, asked, spec=spec), confinement=HERE))

    assert again.results.errors == ()
    assert again.results.metrics["overall"].value == 1
    assert asked.asked("evaluation_choose_with_state") == [], "the baselines were finished"
    assert not list((tmp_path / again.manifest.run_id).glob("error-*"))


def test_refusing_to_answer_neither_leads_the_board_nor_is_in_a_group(tmp_path: Path) -> None:
    honest = finish(run_of(tmp_path, HonestModel()))
    refusing = finish(run_of(tmp_path, HonestModel({"evaluation_choose_answer": "I would rather not."}), attempt=1))
    board = best_first([refusing, honest])

    assert board[0] is honest
    assert run_groups(board) == {honest.manifest.run_id: "A", refusing.manifest.run_id: "-"}
    assert "100.0 % (!)" in leaderboard_table([refusing, honest])


def test_a_sleeping_memory_holds_up_nobody_else() -> None:
    asleep, woken = threading.Event(), threading.Event()

    class Sleeps:
        def write(self, events: object) -> None: ...

        def recall(self, query: str, *, tokens: int) -> list[str]:
            asleep.set()
            return ["woken"] if woken.wait(LONG) else []

    async def both() -> list[str]:
        host = MemoryHost.in_thread("sleeps", lambda _: Sleeps(), tools(HonestModel()))
        memory = await host.new_memory()
        recalling = asyncio.ensure_future(memory.recall("boat", tokens=100))
        await until(asleep.is_set)
        woken.set()
        try:
            return await recalling
        finally:
            await host.close()

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
