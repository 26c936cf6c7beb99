"""Mem0 by its own library: what it remembers, that it can be copied, and that a whole run with it can be replayed."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assets.llm.ports import EndpointError, ModelRequest
from pipelines.cli.main import app
from pipelines.embedded.bank import model_name
from pipelines.evaluation.folder import read_run
from pipelines.memories.code_identity import memory_version
from pipelines.memories.contract import MemoryEvent, MemorySpec
from pipelines.memories.hosting.confinement import host_memory
from pipelines.memories.hosting.hosted import HostedMemory
from pipelines.memories.registry import find_memory
from tests.evaluation.scripted_evaluation import HonestModel
from tests.evaluation.test_memories import tools
from tests.support.coroutines import run

KINDS = ("mem0", "mem0-graph")
AT = datetime(2020, 10, 1, 9, 30)
LATER = datetime(2021, 1, 5, 20, 0)


def sentences(request: ModelRequest) -> object:
    """Each line of the user is worth keeping."""
    new = request.messages[-1].content.partition("## New Messages\n")[2].partition("\n\n##")[0]
    said = [line.removeprefix("user: ") for line in new.splitlines() if line.startswith("user: ")]
    return {"memory": [{"id": str(place), "text": text, "attributed_to": "user"} for place, text in enumerate(said)]}


def made(kind: str, *, extract: Any = sentences, calls_left: int = 1_000) -> tuple[HostedMemory, HonestModel]:
    """An empty memory without short-term memory, and its model."""
    model = HonestModel({"mem0/extract": extract}, calls_left=calls_left)
    spec = MemorySpec(name=kind, kind=kind, settings={"freq": 2, "ns": 0})
    return run(host_memory(spec, tools(model)).new_memory()), model


def tell(memory: HostedMemory, messages: Sequence[str], *, at: datetime = AT) -> None:
    """Say these one after another."""
    for message in messages:
        run(memory.write([MemoryEvent(message, "user", at), MemoryEvent("Noted.", "assistant", at)]))


def recalled(memory: HostedMemory, query: str) -> list[str]:
    return run(memory.recall(query, tokens=10_000))


SAID = ("Ana Silva drinks green tea in Lisbon.", "My cat sleeps all day.", "Ana Silva has moved to Porto.")


@pytest.mark.parametrize("kind", KINDS)
def test_a_copy_remembers_goes_on_the_same_and_sees_nothing_of_the_other(kind: str) -> None:
    memory, _ = made(kind)
    tell(memory, SAID)
    copy = run(memory.fork())
    before = recalled(copy, "Ana Silva")
    assert before == recalled(memory, "Ana Silva")

    tell(memory, ["Porto is louder than Lisbon.", "Ana Silva sings."], at=LATER)
    assert recalled(copy, "Ana Silva") == before
    tell(copy, ["Porto is louder than Lisbon.", "Ana Silva sings."], at=LATER)
    assert recalled(copy, "Ana Silva") == recalled(memory, "Ana Silva") != before


def test_memories_carry_the_time_of_the_episode_and_no_other() -> None:
    memory, model = made("mem0")
    tell(memory, SAID[:1])
    tell(memory, SAID[1:2], at=LATER)
    prompt = model.asked("mem0/extract")[-1].messages[-1].content

    assert recalled(memory, "tea and cat") == [f"[2020-10-01 09:30:00] {SAID[0]}", f"[2021-01-05 20:00:00] {SAID[1]}"]
    assert "## Observation Date\n2021-01-05\n\n## Current Date\n2021-01-05" in prompt


def test_only_the_graph_links_entities_to_their_memories() -> None:
    memories = {kind: made(kind)[0] for kind in KINDS}
    linked: dict[str, int] = {}
    for kind, memory in memories.items():
        tell(memory, SAID)
        pages: list[Any] = memory.memory._memory.entity_store.list(filters=None, top_k=10)
        linked[kind] = len(pages[0]) if pages else 0

    assert linked["mem0"] == 0
    assert linked["mem0-graph"] > 0


def test_what_cannot_be_put_into_words_is_lost_and_nothing_breaks() -> None:
    memory, model = made("mem0", extract="no JSON")
    lost = list[str]()
    memory.host.retries.count = lambda method, count: lost.extend([method] * count.lost)
    tell(memory, SAID[:1])

    assert recalled(memory, "tea") == []
    assert lost == ["write"]
    assert len(model.asked("mem0/extract")) == 2


def test_an_endpoint_that_is_gone_ends_the_run_with_its_own_sentence() -> None:
    memory, _ = made("mem0", calls_left=0)

    with pytest.raises(EndpointError, match="The endpoint is gone"):
        tell(memory, SAID[:1])


def test_the_installed_versions_are_part_of_the_runs_identity() -> None:
    assert memory_version("mem0").startswith("mem0ai 2.")
    assert "spacy" in memory_version("mem0-graph")
    assert find_memory("mem0-graph").settings == {"freq": 2, "ns": 4, "topk": 30}


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_over_http_remembers_and_is_replayed_to_the_byte(
    kind: str, data: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["evaluate", str(data), "--memory", kind]
    command += ["--model", model_name(), "--set", f"embedding_model={model_name()}"]
    assert CliRunner().invoke(app, command, catch_exceptions=False).exit_code == 0
    [folder] = (own_home / "runs").glob("data.json-*")
    finished = read_run(folder.name, runs=own_home / "runs")

    overall, guessed = finished.results.metrics["overall"].value, finished.results.baselines["options_only"].value
    assert overall is not None
    assert guessed is not None
    assert overall > guessed + 0.2
    assert any(answer.memories for answer in finished.answers)
    assert {path.name for path in own_home.parent.iterdir()} <= {"home"}

    again = own_home.parent / "again"
    again.mkdir()
    (again / "calls.sqlite").write_bytes((own_home / "calls.sqlite").read_bytes())
    monkeypatch.setenv("AMEMGYM_HOME", str(again))
    assert CliRunner().invoke(app, [*command, "--offline"], catch_exceptions=False).exit_code == 0
    for name in ("manifest.json", "answers.parquet", "turns.parquet", "results.json"):
        assert (again / "runs" / folder.name / name).read_bytes() == (folder / name).read_bytes()
