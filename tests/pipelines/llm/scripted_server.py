"""A chat endpoint that answers by script, over a real socket or in process, and remembers what it was asked."""

import asyncio
import json
import threading
import time
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

import httpx2
import uvicorn
from pydantic import SecretStr
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from assets.llm.ports import CallLabels, ModelRequest
from pipelines.resources.llm.settings import EndpointSettings
from prompts.template import Message
from tests.support.waiting import LONG, until, wait_until

KEY = "sk-proj-Zq7Lm2Xv9Rt4Bn8Kw3"
CLOSED_SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Answer:
    """One scripted answer. `hang` seconds first; `drop` breaks the connection within the body."""

    status: int = 200
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    hang: float = 0.0
    drop: bool = False


def completion(text: str = '{"name": "Ada"}', *, finish: str = "stop", refusal: str | None = None) -> Answer:
    choice = {"index": 0, "message": {"role": "assistant", "content": text, "refusal": refusal}, "finish_reason": finish}
    return Answer(body={"choices": [choice], "usage": {"prompt_tokens": 11, "completion_tokens": 7}})


def fault(status: int, message: str = "no", *, headers: Mapping[str, str] | None = None, **error: str) -> Answer:
    return Answer(status, {"error": {"message": message, **error}}, headers=headers or {})


@dataclass
class ScriptedServer:
    """An ASGI app. The script is used up answer by answer; after it, `always`, or a plain completion.

    `together`: the first answers wait until so many requests are there at the same time.
    """

    script: deque[Answer] = field(default_factory=deque[Answer])
    always: Answer = field(default_factory=completion)
    asked: list[dict[str, object]] = field(default_factory=list[dict[str, object]])
    times: list[float] = field(default_factory=list[float])
    together: int = 1
    at_once: int = 0
    most_at_once: int = 0

    def says(self, *answers: Answer) -> None:
        self.script.extend(answers)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        self.asked.append(json.loads(await Request(scope, receive).body()))
        self.times.append(time.monotonic())
        answer = self.script.popleft() if self.script else self.always
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        await until(lambda: self.most_at_once >= self.together)
        await asyncio.sleep(answer.hang)
        self.at_once -= 1
        if answer.drop:
            await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"999")]})
            await send({"type": "http.response.body", "body": b'{"choices": ['})
            return
        content = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        await Response(content, answer.status, dict(answer.headers), "application/json")(scope, receive, send)


@contextmanager
def on_a_port(app: ASGIApp, *, lifespan: Literal["on", "off"] = "off") -> Generator[str, None, None]:
    """Serve the app on 127.0.0.1; the base URL."""
    config = uvicorn.Config(app, port=0, log_level="critical", lifespan=lifespan, timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.should_exit = True
        thread.join()


def settings_for(url: str, **given: object) -> EndpointSettings:
    values: dict[str, object] = {"base_url": url, "api_key": SecretStr(KEY), "timeout_seconds": LONG, "backoff_seconds": 0.01}
    return EndpointSettings.model_validate(values | given)


def in_process(app: ScriptedServer, **given: object) -> EndpointSettings:
    return settings_for("http://model/v1", transport=httpx2.ASGITransport(app=app), **given)


def a_request(text: str = "Who?", *, schema: dict[str, object] | None = None, sample: int = 0) -> ModelRequest:
    return ModelRequest(
        model="m-1",
        messages=(Message("system", "Answer in JSON."), Message("user", text)),
        temperature=0.2,
        max_output_tokens=50,
        schema_name="questions_draft",
        json_schema=schema,
        seed=42,
        sample=sample,
        labels=CallLabels(stage="questions", item_id="u-1", prompt="questions/draft"),
    )
