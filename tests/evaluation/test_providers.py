"""Providers of the Agent Memory Benchmark as memories."""

import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pipelines.memories.contract import MemoryEvent
from pipelines.memories.hosting.confinement import Confinement, host_memory
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of
from tests.evaluation.test_memories import tools
from tests.support.coroutines import run
from tests.support.providers import BM25, forget, put_on_path

# A provider that writes down how it is used, and adds what it ingests to what is there, as services do.
ADDING = """
from memory_bench.memory.base import MemoryProvider
CALLS = []
class Adding(MemoryProvider):
    def __init__(self):
        self.number = len([name for name, *_ in CALLS if name == "made"])
        self.stored = []
        self.note("made")
    def note(self, name, *more): CALLS.append((name, self.number, *more))
    def initialize(self):
        import asyncio
        asyncio.run(asyncio.sleep(0))
        self.note("initialize")
    def prepare(self, store_dir, unit_ids=None): self.note("prepare", store_dir.is_dir(), len(unit_ids))
    def ingest(self, documents):
        self.note("ingest", len(documents))
        self.stored += documents
    def retrieve(self, query, k=10, user_id=None, query_timestamp=None):
        self.note("retrieve")
        assert self.stored
        return [one for one in self.stored if one.user_id == user_id][-k:][::-1], None
    def cleanup(self): self.note("cleanup")
"""


@pytest.fixture(autouse=True)
def _harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    put_on_path(monkeypatch)
    (tmp_path / "adding.py").write_text(ADDING, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    yield
    forget()
    sys.modules.pop("adding", None)


def test_a_provider_that_replaces_what_it_was_given_scores_as_our_own_memory_of_words(tmp_path: Path) -> None:
    found = dict[str, float | None]()
    for name in ("bm25", BM25):
        finished = finish(run_of(tmp_path, HonestModel(), spec=find_memory(name), conditions=(), baselines=False))
        assert finished.results.errors == ()
        found[name] = finished.results.metrics["overall"].value

    assert found[BM25] == found["bm25"] == 1


def test_a_provider_is_given_everything_so_far_once_is_never_asked_empty_and_is_cleaned_up() -> None:
    async def lived() -> list[list[str]]:
        here = Confinement(in_process=True)  # so that its notes can be read
        host = host_memory(find_memory("provider+adding:Adding"), tools(HonestModel()), confinement=here)
        memory = await host.new_memory()
        found = [await memory.recall("tea", tokens=100)]
        await memory.write([MemoryEvent("I drink tea.", "user"), MemoryEvent("Noted.", "assistant")])
        await memory.write([MemoryEvent("A page.", "document"), MemoryEvent("Another page.", "document")])
        found.append(await memory.recall("tea", tokens=100))
        copy = await memory.fork()
        await memory.write([MemoryEvent("I drink coffee now.", "user")])
        found.append(await memory.recall("tea", tokens=100))
        found.append(await copy.recall("tea", tokens=100))
        await host.close()
        return found

    tea = ["user: I drink tea.\nassistant: Noted.", "document: A page.", "document: Another page."]
    assert run(lived()) == [[], tea, [*tea, "user: I drink coffee now."], tea]
    calls: list[tuple[Any, ...]] = import_module("adding").CALLS
    for number, documents_given in ((0, 3), (1, 4)):
        own = [(name, *more) for name, one, *more in calls if one == number]
        assert own[:4] == [("made",), ("initialize",), ("prepare", True, 1), ("ingest", documents_given)]
        assert set(own[4:-1]) == {("retrieve",)}
        assert own[-1] == ("cleanup",)
    assert len([name for name, *_ in calls if name == "made"]) == 2
