"""An exported environment loaded and played by verifiers itself, with a model on loopback."""

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import verifiers.v1 as vf
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from pipelines.export.formats import release_writer
from tests.evaluation.scripted_evaluation import tasks
from tests.evaluation.test_document_tasks import documents
from tests.pipelines.llm.scripted_server import on_a_port

PACKAGE = "amemgym_memory"


class Listener:
    """A model that answers every question with what it is told, and keeps what it was sent."""

    def __init__(self) -> None:
        self.answer = ""
        self.sent: list[list[dict[str, Any]]] = []

    async def complete(self, request: Request) -> JSONResponse:
        messages = (await request.json())["messages"]
        self.sent.append(messages)
        asked = "End with a line: ANSWER:" in messages[-1]["content"]
        message = {"role": "assistant", "content": f"ANSWER: {self.answer}" if asked else "I see."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        reply = {"id": "x", "object": "chat.completion", "created": 0, "model": "listener", "choices": [choice], "usage": usage}
        return JSONResponse(reply)


@pytest.fixture
def listener() -> Listener:
    return Listener()


@pytest.fixture
def context(listener: Listener, monkeypatch: pytest.MonkeyPatch) -> Iterator[vf.ModelContext]:
    """The listener behind verifiers' own client."""
    monkeypatch.setenv("LISTENER_KEY", "any")
    app = Starlette(routes=[Route("/v1/chat/completions", listener.complete, methods=["POST"])])
    with on_a_port(app) as url:
        config = vf.EvalClientConfig(base_url=url, api_key_var="LISTENER_KEY")
        yield vf.ModelContext(model="listener", client=config)


def environment(folder: Path, data: Any, monkeypatch: pytest.MonkeyPatch) -> vf.Env[Any]:
    """The environment of an export, found by its name as the command does."""
    release_writer("verifiers")(data, folder)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        monkeypatch.delitem(sys.modules, name)
    player = {"harness": {"id": "loopback_harness"}, "runtime": {"type": "subprocess"}}
    return vf.load_environment(vf.resolve_env_config({"taskset": {"id": "amemgym-memory"}, "player": player}))


async def play(env: vf.Env[Any], task: Any, context: vf.ModelContext) -> Any:
    async with env.serving():
        return await env.run_episode(task, context)


def test_a_user_is_played_message_by_message_and_the_right_letter_is_rewarded(
    tmp_path: Path, listener: Listener, context: vf.ModelContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tasks("ada")
    env = environment(tmp_path, data, monkeypatch)
    played = list(env.taskset)
    assert len(played) == 6
    said = [session.query for period in data.dataset.episodes[0].periods for session in period.sessions]
    for letter, reward in ((played[-1].data.right, 1.0), ("Z", 0.0)):
        listener.answer = letter
        listener.sent.clear()
        episode = asyncio.run(play(env, played[-1], context))
        assert episode.ok, episode.errors
        assert episode.traces[0].reward == reward
        assert len(listener.sent) == len(said) + 1, "a turn each, then the question"
        told = [message["content"] for message in listener.sent[-1] if message["role"] == "user"]
        assert all(text in line for text, line in zip(said, told, strict=False))


def test_documents_arrive_turn_by_turn_and_a_free_answer_is_graded_by_its_words(
    tmp_path: Path, listener: Listener, context: vf.ModelContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = documents()
    env = environment(tmp_path, data, monkeypatch)
    [task] = env.taskset
    [item] = data.documents
    listener.answer = f"It is {item.task.answer.value}."
    episode = asyncio.run(play(env, task, context))
    assert episode.ok, episode.errors
    assert episode.traces[0].reward == 1.0
    assert len(listener.sent) == len(item.sized.turns) + 1


def test_the_folder_is_small_and_imports_nothing_of_ours(tmp_path: Path) -> None:
    for form in ("verifiers", "openenv"):
        release_writer(form)(tasks("ada"), tmp_path / form)
        code = [path.read_text(encoding="utf-8") for path in (tmp_path / form).rglob("*.py")]
        assert sum(len(text.splitlines()) for text in code) <= 200
        assert not any(word in text for text in code for word in ("import pipelines", "from pipelines", "from assets"))
        rows = (tmp_path / form).rglob("questions.jsonl")
        assert all(json.loads(line)["gold_answer"] for path in rows for line in path.read_text(encoding="utf-8").splitlines())
