"""A release's questions run by Inspect with its mock model, and memories as its agents' way to compact."""

import asyncio
import re
import tomllib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task
from inspect_ai.agent import react
from inspect_ai.dataset import Sample
from inspect_ai.event import CompactionEvent
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessage, ModelOutput, StopReason, get_model
from inspect_ai.tool import Tool, tool

from pipelines.embedded.bank import model_name
from pipelines.export.inspect_tasks import RECALLED, CompactionMemory, InspectModel, questions
from pipelines.memories.contract import chat_request
from prompts.template import Message

CALLS: list[tuple[str, StopReason]] = [("Noted.", "stop"), ("Not", "max_tokens")]


class Words:
    """Stands for a table of tokens that Inspect would download: it counts words."""

    def encode(self, text: str, **_: object) -> list[str]:
        return text.split()


@pytest.fixture(autouse=True)
def _no_download(monkeypatch: pytest.MonkeyPatch) -> None:  # pyright: ignore[reportUnusedFunction]
    def encoding(name: str) -> Words:
        return Words()

    monkeypatch.setattr("tiktoken.get_encoding", encoding)


def evaluated(task: Task, act: Callable[..., ModelOutput], *, logs: Path) -> EvalLog:
    """The log of a task that the mock model does as `act` says."""
    # Its annotations are only partly known to type checkers.
    [log] = import_module("inspect_ai").eval(
        task, model=get_model("mockllm/model", custom_outputs=act), log_dir=str(logs), display="none"
    )
    assert log.status == "success", log.error
    return log


def first_option(messages: list[ChatMessage], *_: object) -> ModelOutput:
    """The mock's answer: always the first option."""
    return ModelOutput.from_content("mockllm/model", "ANSWER: 1")


def all_options(messages: list[ChatMessage], *_: object) -> ModelOutput:
    return ModelOutput.from_content("mockllm/model", "ANSWER: 1, 2, 3, 4")


@pytest.mark.usefixtures("own_home")
@pytest.mark.parametrize("memory", ["bm25", "rag-2-4-30"])
def test_every_question_is_asked_with_what_a_memory_recalls(data: Path, tmp_path: Path, memory: str) -> None:
    asked = questions(str(data), memory=memory, tokens=300, window=50, users=1, embedding_model=model_name())
    log = evaluated(asked, first_option, logs=tmp_path)
    assert log.samples
    assert log.results
    right = sum(f"\n1. {sample.target}\n" in sample.messages[-2].text for sample in log.samples)
    assert log.results.scores[0].metrics["accuracy"].value == pytest.approx(right / len(log.samples))
    listing = evaluated(asked, all_options, logs=tmp_path / "listing")
    assert listing.results
    assert listing.results.scores[0].metrics["accuracy"].value == 0
    for sample in log.samples:
        [recalled] = [message.text for message in sample.messages if message.text.startswith(RECALLED)]
        assert "[20" in recalled, "messages of the user, with their times"
        assert len(sample.messages) < len(sample.input), "what left the window is not sent"


@tool
def look() -> Tool:
    """A tool with something to remember."""

    async def execute(number: int) -> str:
        """Look something up.

        Args:
            number: What to look up.
        """
        return f"Shelf {number} holds box {7000 + number}. " + "Nothing else is there. " * 30

    return execute


@pytest.mark.usefixtures("own_home")
def test_an_agents_conversation_is_compacted_again_and_again_and_nothing_written_is_lost(tmp_path: Path) -> None:
    seen: list[str] = []

    def act(messages: list[ChatMessage], *_: object) -> ModelOutput:
        seen.append("\n".join(message.text for message in messages))
        if len(seen) <= 24:
            return ModelOutput.for_tool_call("mockllm/model", "look", {"number": len(seen)})
        return ModelOutput.for_tool_call("mockllm/model", "submit", {"answer": "box 7001"})

    strategy = CompactionMemory("bm25", tokens=500, window=200, threshold=1_500)
    task = Task(dataset=[Sample("What is on shelf 1?", target="box 7001")], solver=react(tools=[look()], compaction=strategy))
    log = evaluated(task, act, logs=tmp_path)
    assert log.samples
    compactions = [event for event in log.samples[0].events if isinstance(event, CompactionEvent)]
    assert len(compactions) >= 2
    last = seen[-1]
    assert RECALLED in last
    assert "Shelf 1 holds box 7001" in last
    assert last.count("Shelf 1 holds") == 1


def test_a_memorys_own_calls_go_to_the_model_that_is_evaluated() -> None:
    outputs = [ModelOutput.from_content("mockllm/model", text, stop_reason=why) for text, why in CALLS]
    model = InspectModel(get_model("mockllm/model", custom_outputs=outputs))
    request = chat_request("mockllm/model", [Message("system", "Be brief."), Message("user", "Note this.")], seed=1)
    replies = [asyncio.run(model.complete(request)) for _ in CALLS]
    assert [(reply.text, reply.finish) for reply in replies] == [("Noted.", "stop"), ("Not", "length")]


def test_the_guides_template_for_a_register_entry_is_a_project_that_wants_inspect_and_has_a_task() -> None:
    page = Path("pipelines/guide/score/formats.md").read_text(encoding="utf-8")
    project, module = (re.findall(rf"```{kind}\n(.*?)```", page, re.DOTALL)[0] for kind in ("toml", "python"))
    assert any(one.startswith("inspect-ai") for one in tomllib.loads(project)["project"]["dependencies"])
    defined: dict[str, Any] = {}
    exec(compile(module, "amemgym_questions.py", "exec"), defined)
    assert "@task\ndef amemgym_questions(" in module
    assert callable(defined["amemgym_questions"])
