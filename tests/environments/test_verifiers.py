"""An exported environment loaded and played by verifiers itself, with a model on loopback."""

import asyncio
import sys
from collections.abc import Iterator, Sequence
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
from tests.evaluation.test_acted_tasks import tasks as tool_tasks
from tests.evaluation.test_document_tasks import documents
from tests.experiments.test_exported_grades import honest_replies
from tests.pipelines.llm.scripted_server import on_a_port

PACKAGE = "amemgym_memory"


class Listener:
    """A model that listens until it is asked, then gives the replies that it is told, and keeps what it was sent."""

    def __init__(self) -> None:
        self.replies: Sequence[str] = ()
        self.listens = 0
        self.sent: list[list[dict[str, Any]]] = []

    async def complete(self, request: Request) -> JSONResponse:
        messages = (await request.json())["messages"]
        self.sent.append(messages)
        told = len(self.sent) - self.listens - 1
        message = {"role": "assistant", "content": "I see." if told < 0 else self.replies[told]}
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


def begin(listener: Listener, task: Any, *replies: str) -> None:
    """Let the model hear all turns of an episode, and then give these replies."""
    listener.replies = replies
    listener.listens = len(task.data.episode.turns)
    listener.sent.clear()


async def play(env: vf.Env[Any], task: Any, context: vf.ModelContext) -> Any:
    async with env.serving():
        return await env.run_episode(task, context)


def test_a_user_is_played_message_by_message_and_the_right_number_is_rewarded(
    tmp_path: Path, listener: Listener, context: vf.ModelContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tasks("ada")
    env = environment(tmp_path, data, monkeypatch)
    played = list(env.taskset)
    assert len(played) == 6
    said = [session.query for period in data.dataset.episodes[0].periods for session in period.sessions]
    for number, reward in ((played[-1].data.episode.question.gold_option + 1, 1.0), (99, 0.0)):
        begin(listener, played[-1], f"ANSWER: {number}")
        episode = asyncio.run(play(env, played[-1], context))
        assert episode.ok, episode.errors
        assert episode.traces[0].reward == reward
        assert len(listener.sent) == len(said) + 1, "a turn each, then the question"
        told = [message["content"] for message in listener.sent[-1] if message["role"] == "user"]
        assert all(text in line for text, line in zip(said, told, strict=False))


def test_documents_arrive_turn_by_turn_and_a_free_answer_is_graded(
    tmp_path: Path, listener: Listener, context: vf.ModelContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = documents()
    env = environment(tmp_path, data, monkeypatch)
    [task] = env.taskset
    [item] = data.documents
    for reply, reward in ((item.task.answer.value, 1.0), (f"{item.task.answer.value} or 14", 0.0)):
        begin(listener, task, f"ANSWER: {reply}")
        episode = asyncio.run(play(env, task, context))
        assert episode.ok, episode.errors
        assert episode.traces[0].reward == reward
        assert len(listener.sent) == len(item.sized.turns) + 1


def test_a_tool_dialogue_is_acted_call_by_call_to_the_grade_of_its_end(
    tmp_path: Path, listener: Listener, context: vf.ModelContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    env = environment(tmp_path, tool_tasks(), monkeypatch)
    [task] = env.taskset
    replies = honest_replies(task.data.episode.task)
    for chosen, reward in ((replies, 1.0), (replies[-1:], 0.0)):
        begin(listener, task, *chosen)
        episode = asyncio.run(play(env, task, context))
        assert episode.ok, episode.errors
        assert episode.traces[0].reward == reward
        assert len(listener.sent) == listener.listens + len(chosen)
