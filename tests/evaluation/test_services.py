"""A memory service on loopback is scored with correct forks, whether it can copy a session or not."""

from pathlib import Path

import pytest

from pipelines.evaluation.answered.fact_metrics import MOMENTS
from pipelines.memories.check import check_memory
from pipelines.memories.contract import MemoryEvent
from pipelines.memories.hosting.confinement import host_memory
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.evaluation.test_fact_tasks import tasks as fact_tasks
from tests.evaluation.test_memories import tools
from tests.support.coroutines import run
from tests.support.embedded_model import EmbeddedModel
from tests.support.memory_service import memory_service


@pytest.mark.parametrize("forks", ["fork", "none", "settle", "forget"])
def test_a_service_is_scored_with_copies_that_see_nothing_later(forks: str, tmp_path: Path) -> None:
    with memory_service(habit=forks) as memory:
        spec = find_memory(memory.address)
        assert [verdict.what for verdict in run(check_memory(spec, tools(HonestModel()))) if verdict.broken] == []
        work = run_of(tmp_path, HonestModel(), data=tasks("ada"), spec=spec, conditions=(), baselines=False)
        finished = finish(work)
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
    with memory_service(habit=route) as memory:
        finished = finish(run_of(tmp_path, EmbeddedModel(), data=fact_tasks(), spec=find_memory(memory.address)))
    found = {group.value: group["in_texts"].value for group in finished.results.own if group.by == "moment"}
    assert finished.results.errors == ()
    assert [found[moment] for moment in MOMENTS] == held


def test_a_copy_that_is_written_anew_is_asked_to_forget_as_well() -> None:
    async def recalled_by_copy(address: str) -> tuple[list[str], list[str]]:
        memory = await host_memory(find_memory(address), tools(HonestModel())).new_memory()
        await memory.write([MemoryEvent("My boat is called Wren.", "user")])
        before = await (await memory.fork()).recall("My boat?", tokens=100)
        assert await memory.forget(MemoryEvent("Please forget my boat, for I sold it.", "user"))
        return before, await (await memory.fork()).recall("My boat called Wren?", tokens=100)

    with memory_service(habit="forget") as memory:
        before, after = run(recalled_by_copy(memory.address))
    assert "Wren" in " ".join(before)
    assert "Wren" not in " ".join(after)


def test_a_service_that_takes_an_id_for_a_copy_is_found_out() -> None:
    with memory_service(habit="id") as memory:
        verdicts = run(check_memory(find_memory(memory.address), tools(HonestModel())))

    assert "its fork sees what was written later" in verdicts[-1].sentence


def test_a_service_that_is_not_there_is_one_sentence() -> None:
    [verdict] = run(check_memory(find_memory("http://127.0.0.1:9"), tools(HonestModel())))

    assert "service at http://127.0.0.1:9/write does not answer" in verdict.sentence
