"""Refusals as people reported them are understood: a server refuses so, and the client does what the refusal means.

Each line of the file beside this has a report's address, status and body, and what it `means`. `refuses` is the part of a
request that the server does not take (of `max_tokens`, more than that); without it, it takes none. `asked` is the room.
"""

import asyncio
import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assets.llm.ports import EndpointError, ModelReply, RequestFailed
from pipelines.resources.llm.client import ModelClient
from tests.pipelines.llm.scripted_server import CLOSED_SCHEMA, a_request, completion, settings_for
from tests.support.virtual_time import run_in_virtual_time

REPORTS = Path(__file__).with_name("reported_refusals.jsonl")
REFUSALS: list[dict[str, Any]] = list(map(json.loads, REPORTS.read_text(encoding="utf-8").splitlines()))
ENDS_THE_RUN = {
    "key": "does not accept the API key",
    "credit": "has no quota left for this key",
    "day": "has used up the quota of this day",
    "later": "asks to be left alone for",
    "account": "serves 'm-1' to no account with such settings",
    "access": "denied access",
    "model": "does not know the model",
    "memory": "has too little memory for the model",
}
OF_A_REQUEST = {
    "too long": "too long for the model",
    "another model": "or choose another model",
}
MOST_TRIES = 8  # each optional part of a request once


@dataclass
class RefusingServer:
    """A server that refuses as in a report, and serves the rest."""

    refusal: dict[str, Any]
    asked: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    async def answer(self, request: Request) -> Response:
        self.asked.append(await request.json())
        if self._takes(self.asked[-1]):
            return JSONResponse(completion().body)
        return JSONResponse(self.refusal["body"], self.refusal["status"])

    def _takes(self, body: dict[str, Any]) -> bool:
        refused: Any = self.refusal.get("refuses")
        if refused is None:
            return False
        if refused == "first":
            return len(self.asked) > 1
        if refused == "json_schema":
            return '"json_schema"' not in json.dumps(body)
        if "max_tokens" in refused:
            return body["max_tokens"] <= refused["max_tokens"]
        return refused not in body


async def ask(server: RefusingServer) -> tuple[ModelReply, ModelReply]:
    app = Starlette(routes=[Route("/v1/chat/completions", server.answer, methods=["POST"])])
    settings = settings_for("http://model/v1", transport=httpx2.ASGITransport(app=app))
    client = ModelClient(settings, clock=lambda: asyncio.get_running_loop().time())
    request = replace(a_request("Who? " * 100, schema=CLOSED_SCHEMA), max_output_tokens=server.refusal.get("asked", 8192))
    return await client.complete(request), await client.complete(replace(request, sample=1))


@pytest.fixture(scope="module", autouse=True)
def _first_call() -> None:
    """A client's first call looks at the machine in a thread, for which a clock that jumps does not wait."""
    asyncio.run(ask(RefusingServer({"refuses": "nothing"})))


@pytest.mark.parametrize("refusal", REFUSALS, ids=[refusal["from"].partition("github.com/")[2] for refusal in REFUSALS])
def test_a_refusal_does_what_it_means(refusal: dict[str, Any]) -> None:
    server = RefusingServer(refusal)
    means: str = refusal["means"]
    if means in ENDS_THE_RUN:
        with pytest.raises(EndpointError) as ended:
            run_in_virtual_time(ask(server))
        assert ENDS_THE_RUN[means] in str(ended.value)
        assert len(server.asked) == 1, "nobody pays or waits for a second call"
    elif means in OF_A_REQUEST:
        with pytest.raises(RequestFailed) as failed:
            run_in_virtual_time(ask(server))
        assert OF_A_REQUEST[means] in str(failed.value)
        assert means != "too long" or len(server.asked) == 1
    else:
        replies, _ = run_in_virtual_time(ask(server))
        assert {reply.finish for reply in replies} == {"length" if means == "in parts" else "stop"}
        assert len(server.asked) <= MOST_TRIES
