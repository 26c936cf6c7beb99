"""Mem0 by its own library: what it remembers, that it can be copied, and that a whole run with it can be replayed."""

import json
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from assets.llm.ports import EndpointError, ModelRequest
from pipelines.cli.main import app
from pipelines.embedded.bank import model_name
from pipelines.evaluation.assistant import Assistant, Observer, QuestionPrompt
from pipelines.evaluation.assistants.registry import find_spec, kind_version, make_assistant
from pipelines.evaluation.folder import read_run
from pipelines.evaluation.records import AssistantSpec
from tests.evaluation.scripted_evaluation import HonestModel, tools
from tests.support.coroutines import run

KINDS = ("mem0", "mem0-graph")
AT = datetime(2020, 10, 1, 9, 30)
LATER = datetime(2021, 1, 5, 20, 0)
QUESTION = QuestionPrompt(text="What about tea?", about="tea", schema_name="chat")


def sentences(request: ModelRequest) -> object:
    """Each line of the user is worth keeping."""
    new = request.messages[-1].content.partition("## New Messages\n")[2].partition("\n\n##")[0]
    said = [line.removeprefix("user: ") for line in new.splitlines() if line.startswith("user: ")]
    return {"memory": [{"id": str(place), "text": text, "attributed_to": "user"} for place, text in enumerate(said)]}


def made(kind: str, *, extract: Any = sentences, calls_left: int = 1_000) -> tuple[Assistant, HonestModel]:
    """A new assistant without short-term memory, and its model."""
    model = HonestModel({"mem0/extract": extract}, calls_left=calls_left)
    return make_assistant(AssistantSpec(name=kind, kind=kind, settings={"freq": 2, "ns": 0}), tools(model)), model


async def live(assistant: Assistant, messages: Sequence[str], *, at: datetime = AT) -> None:
    """Say these one after another."""
    for message in messages:
        await assistant.respond(message, at=at)


SAID = ("Ana Silva drinks green tea in Lisbon.", "My cat sleeps all day.", "Ana Silva has moved to Porto.")


@pytest.mark.parametrize("kind", KINDS)
def test_a_restored_assistant_remembers_and_goes_on_the_same(kind: str) -> None:
    assistant, _ = made(kind)
    copy, _ = made(kind)
    run(live(assistant, SAID))
    copy.restore(assistant.snapshot())
    assert copy.snapshot() == assistant.snapshot()
    assert run(copy.memories("Ana Silva")) == run(assistant.memories("Ana Silva"))

    for one in (assistant, copy):
        run(live(one, ["Porto is louder than Lisbon.", "Ana Silva sings."], at=LATER))
    assert copy.snapshot() == assistant.snapshot()


@pytest.mark.parametrize("kind", KINDS)
def test_answering_and_recalling_change_no_memory(kind: str) -> None:
    assistant, _ = made(kind)
    run(live(assistant, SAID))
    before = assistant.snapshot()
    run(assistant.answer(QUESTION))
    run(assistant.memories("cat"))

    assert assistant.snapshot() == before


@pytest.mark.parametrize("kind", KINDS)
def test_being_told_a_dialogue_leaves_the_memory_of_having_led_it(kind: str) -> None:
    led, _ = made(kind)
    told, _ = made(kind)
    run(live(led, SAID))
    assert isinstance(told, Observer)
    for message in SAID:
        run(told.observe(message, "Noted.", at=AT))

    assert told.snapshot() == led.snapshot()


def test_memories_carry_the_time_of_the_episode_and_no_other() -> None:
    assistant, model = made("mem0")
    run(live(assistant, SAID[:1]))
    run(live(assistant, SAID[1:2], at=LATER))
    prompt = model.asked("mem0/extract")[-1].messages[-1].content
    year = f'"{datetime.now().year}-'

    assert run(assistant.memories("tea and cat")) == [f"[2020-10-01 09:30:00] {SAID[0]}", f"[2021-01-05 20:00:00] {SAID[1]}"]
    assert "## Observation Date\n2021-01-05\n\n## Current Date\n2021-01-05" in prompt
    assert year not in assistant.snapshot().decode()


def test_only_the_graph_links_entities_to_their_memories() -> None:
    plain, _ = made("mem0")
    graph, _ = made("mem0-graph")
    for one in (plain, graph):
        run(live(one, SAID))
    found = {entity["data"]: entity["linked"] for entity in json.loads(graph.snapshot())["kept"]["entities"]}

    assert found["Ana Silva"] == [0, 2]
    assert json.loads(plain.snapshot())["kept"]["entities"] == []


def test_what_cannot_be_put_into_words_is_lost_and_nothing_breaks() -> None:
    assistant, model = made("mem0", extract="no JSON")
    run(live(assistant, SAID[:1]))

    assert run(assistant.memories("tea")) == []
    assert len(model.asked("mem0/extract")) == 2


def test_an_endpoint_that_is_gone_ends_the_run_with_its_own_sentence() -> None:
    assistant, _ = made("mem0", calls_left=1)

    with pytest.raises(EndpointError, match="The endpoint is gone"):
        run(live(assistant, SAID[:1]))


def test_the_installed_versions_are_part_of_the_runs_identity() -> None:
    assert kind_version("mem0").startswith("mem0ai 2.")
    assert "spacy" in kind_version("mem0-graph")
    assert find_spec("mem0-graph").settings == {"freq": 2, "ns": 4, "topk": 30}


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_over_http_remembers_and_is_replayed_to_the_byte(
    kind: str, data: Path, own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["evaluate", str(data), "--assistant", kind]
    command += [part for role in ("model", "embedding-model", "user-model") for part in (f"--{role}", model_name())]
    assert CliRunner().invoke(app, command, catch_exceptions=False).exit_code == 0
    [folder] = (own_home / "runs").iterdir()
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
