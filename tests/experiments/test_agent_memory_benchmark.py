"""The Agent Memory Benchmark both ways: its runner on an export of ours, and its providers as memories here."""

import json
import runpy
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pipelines.export.agent_memory_benchmark import benchmark_dataset
from pipelines.export.documents import HARNESS, export_tasks
from pipelines.memories.contract import MemoryEvent
from pipelines.memories.registry import Confinement, find_memory, host_memory
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.evaluation.test_document_tasks import documents
from tests.evaluation.test_memories import tools
from tests.support.coroutines import run
from tests.support.harness import BM25, LetterMode, forget, put_on_path

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


def exported(folder: Path) -> tuple[Any, list[dict[str, Any]]]:
    """The data set of a user's export, and the questions as the file has them."""
    export_tasks(tasks("ada"), folder)
    lines = (folder / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    return benchmark_dataset(folder), list(map(json.loads, lines))


def scored(made: Any, letters: Sequence[str], folder: Path) -> Any:
    """What the harness's runner makes of these answers."""
    queries = made.load_queries("all")
    mode = LetterMode({one.query: letter for one, letter in zip(queries, letters, strict=True)})
    provider = import_module("memory_bench.memory.bm25").BM25MemoryProvider()
    return import_module("memory_bench.runner").EvalRunner(folder / "outputs").run(made, "all", provider, mode)


def test_right_letters_are_right_by_the_harness_and_others_are_not(tmp_path: Path) -> None:
    made, questions = exported(tmp_path / "export")
    right = ["abcdefgh"[one["gold_option"]] for one in questions]
    wrong = ["abcdefgh"[one["gold_option"] - 1] for one in questions]

    assert (scored(made, right, tmp_path).correct, scored(made, wrong, tmp_path).correct) == (len(questions), 0)
    for one, query in zip(questions, made.load_queries("all"), strict=True):
        assert f"({'abcdefgh'[one['gold_option']]}) {one['gold_answer']}" in query.query.splitlines()
        assert "(a)" not in query.meta["retrieval_query"]


def test_readers_of_the_harness_see_times_and_scores_are_told_apart_by_period(tmp_path: Path) -> None:
    made, questions = exported(tmp_path / "export")
    found = {one.id: one for one in made.load_documents("all")}
    result = scored(made, ["a"] * len(questions), tmp_path)

    assert all(one.content.startswith(f"[{one.timestamp}] ") for one in found.values())
    for query in made.load_queries("all"):
        asked_at = query.meta["query_timestamp"]
        assert query.query.startswith(f"Time of the question: {asked_at}\n")
        assert all(found[key].timestamp <= asked_at for key in query.gold_ids)
    assert made.categories("all") == ["period 0", "period 1", "period 2"]
    assert {one.category_axes["Category"][0] for one in result.results} == {*made.categories("all")}
    assert {one.user_id for one in made.load_documents("all", category="period 1")} == {"ada@1"}
    assert {one.user_id for one in made.load_queries("all", category="period 1")} == {"ada@1"}


def test_its_reader_is_told_the_letters_and_that_the_latest_memory_holds(tmp_path: Path) -> None:
    made, questions = exported(tmp_path / "export")
    prompt = made.build_rag_prompt("Which?", "A memory {of braces}.", "mcq", "all", None, {"letters": "a, b"})
    free = made.build_rag_prompt("Which?", "A memory.", "open", "all")

    assert questions
    assert "(a, b)" in prompt
    assert "A memory {of braces}." in prompt
    assert "the latest" in prompt
    assert free.startswith("A memory.") or "Context:" in free


def test_tasks_over_documents_are_told_apart_by_length(tmp_path: Path) -> None:
    export_tasks(documents(), tmp_path / "export")
    [category] = benchmark_dataset(tmp_path / "export").categories("all")
    assert category.endswith(" tokens")


def test_an_export_starts_the_harness_with_itself_among_its_data_sets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    exported(tmp_path / "export")
    place = tmp_path / "export" / HARNESS
    monkeypatch.setattr(sys, "argv", [str(place), "splits", "--dataset", "amemgym"])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(place), run_name="__main__")

    assert not ended.value.code
    assert capsys.readouterr().out == "all  [period 0, period 1, period 2]\n"
    assert "pipelines" not in place.read_text(encoding="utf-8")


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
