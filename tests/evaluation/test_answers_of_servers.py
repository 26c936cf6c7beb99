"""Scores are the same wherever a server puts its answers, and a reply that is not finished is no answer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assets.llm.ports import CallLabels, ModelRequest
from pipelines.evaluation.folder import FinishedRun
from pipelines.resources.llm.client import ModelClient
from prompts.template import Message
from tests.evaluation.scripted_evaluation import HonestModel, finish, run_of, tasks
from tests.pipelines.llm.scripted_server import settings_for

PROMPTS = {"evaluation_check_turn": "evaluation/check_turn", "test-model": "chat", "test-user": "evaluation/follow_up"}
DRAFT = 'Perhaps {"answer": 1}, or {as yet unknown}.'
# A choice of a completion that brings this text, to the request of this number.
Choice = Callable[[str, int], dict[str, Any]]


def said(content: object, *, finish: str = "stop", **more: object) -> dict[str, Any]:
    return {"message": {"role": "assistant", "content": content, **more}, "finish_reason": finish}


def called(text: str, number: int) -> dict[str, Any]:
    function = {"name": "answer", "arguments": text}
    return said(None, finish="tool_calls", tool_calls=[{"type": "function", "function": function}])


def half_at_times(text: str, number: int) -> dict[str, Any]:
    return said(text[: len(text) // 2], finish="error") if number % 3 == 0 else said(text)


def evaluated(folder: Path, choice: Choice) -> FinishedRun:
    """A run over a server that answers honestly, by choices of this form."""
    model = HonestModel()
    asked: list[object] = []

    async def complete(request: Request) -> Response:
        body = await request.json()
        form = body.get("response_format")
        name: str = form["json_schema"]["name"] if form else body["model"]
        messages = tuple(Message(each["role"], each["content"]) for each in body["messages"])
        labels = CallLabels(prompt=PROMPTS.get(name, name))
        reply = await model.complete(ModelRequest(body["model"], messages, 0.0, 9, name, None, 7, 0, labels))
        asked.append(name)
        usage = {"prompt_tokens": reply.input_tokens, "completion_tokens": reply.output_tokens}
        return JSONResponse({"choices": [choice(reply.text, len(asked)) if form else said(reply.text)], "usage": usage})

    app = Starlette(routes=[Route("/v1/chat/completions", complete, methods=["POST"])])
    client = ModelClient(settings_for("http://model/v1", transport=httpx2.ASGITransport(app=app)))
    return finish(run_of(folder, client, data=tasks("ada"), baselines=False, conditions=()))


CHOICES: dict[str, Choice] = {
    "a thought": lambda text, number: said(f"<think>{DRAFT}</think>\n{text}"),
    "a thought without a beginning": lambda text, number: said(f"{DRAFT}</think>\n{text}"),
    "a fence": lambda text, number: said(f"```json\n{text}\n```", reasoning_content=DRAFT),
    "a field for reasoning": lambda text, number: said(None, reasoning_content=text),
    "parts": lambda text, number: said([{"type": "thinking", "thinking": DRAFT}, {"type": "text", "text": text}]),
    "an object": lambda text, number: said(json.loads(text)),
    "a tool call": called,
    "half at times": half_at_times,
}


@pytest.mark.parametrize("place", CHOICES)
def test_scores_are_those_of_plain_answers(tmp_path: Path, place: str) -> None:
    choice = CHOICES[place]
    results = evaluated(tmp_path, choice).results
    assert (results.metrics["overall"].value, results.metrics["unscored"].value) == (1, 0)


def test_a_draft_in_a_thought_that_was_cut_off_is_never_an_answer(tmp_path: Path) -> None:
    finished = evaluated(tmp_path, lambda text, number: said(f"<think>{DRAFT}", finish="length"))
    assert (finished.results.metrics["overall"].value, finished.results.metrics["unscored"].value) == (0, 1)
    assert {row.reason for row in finished.answers if row.kind == "question"} == {
        "The answer was cut off before it began, at 2 tokens; answer again, and think less. Reasoning took all of the room: "
        "raise --set reply_tokens, or let it reason less."
    }
