"""Memories that are damaged on purpose: seven faults, each the same for the same query."""

import asyncio
from typing import Any

import pytest

from pipelines.errors import EvaluationError
from pipelines.memories.contract import MemoryEvent
from pipelines.memories.hosting.confinement import host_memory
from pipelines.memories.perturbed import PERTURBATIONS, perturb
from pipelines.memories.registry import find_memory
from pipelines.memories.settings import swept_memories
from pipelines.memories.tools import MemoryTools

TEXTS = ["In May 2019 Ada sailed to Brest. It rained.", "Later Ada moved to Lorient in 2023. It was dry."]
WRITTEN = [TEXTS[0], "Nothing happened.", TEXTS[1]]
NOBODY: Any = None
TOOLS = MemoryTools(NOBODY, NOBODY, "", "", 0)


def test_each_fault_loses_what_it_says() -> None:
    given = {name: perturb(name, TEXTS, written=WRITTEN, query="Where?") for name in PERTURBATIONS}
    assert given["half"] == TEXTS[:1]
    assert given["oldest"] == TEXTS[:1]
    assert given["stale"] == TEXTS[:1]
    assert given["names"] == ["In ___ 2019 ___ sailed to ___. It rained.", "Later ___ moved to ___ in 2023. It was dry."]
    assert given["numbers"] == ["In May ___ Ada sailed to Brest. It rained.", "Later Ada moved to Lorient in ___. It was dry."]
    assert sorted(given["shuffled"]) == [
        TEXTS[0].partition(" It")[0],
        "It rained.",
        "It was dry.",
        TEXTS[1].partition(" It")[0],
    ]
    assert set(given["chance"]) <= set(TEXTS)


@pytest.mark.parametrize("name", PERTURBATIONS)
def test_a_fault_is_the_same_for_the_same_query(name: str) -> None:
    first = perturb(name, TEXTS, written=WRITTEN, query="Where?")
    assert first == perturb(name, TEXTS, written=WRITTEN, query="Where?")
    assert perturb(name, [], written=[], query="Where?") == []


def test_any_memory_takes_a_fault_as_a_setting() -> None:
    whole, damaged = swept_memories("full-history?perturbed=numbers,names")[0], "full-history?perturbed=numbers"
    assert whole == damaged

    async def recalled() -> list[str]:
        memory = await host_memory(find_memory(damaged), TOOLS).new_memory()
        await memory.write([MemoryEvent(TEXTS[0], "user")])
        copy = await memory.fork()
        return await copy.recall("Where?", tokens=100)

    assert asyncio.run(recalled()) == ["user: In May ___ Ada sailed to Brest. It rained."]


def test_an_unknown_fault_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(EvaluationError, match=r"There is no perturbation 'haf' of memories. There are: half,"):
        host_memory(find_memory("bm25?perturbed=haf"), TOOLS)
