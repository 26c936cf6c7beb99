"""What a run with a cap can make a provider bill, and which wrong replies it stores, in every kind of fault: CELLS=cap."""

import asyncio
import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from assets.llm.ports import BudgetReached, EndpointError, ModelReply, RequestFailed
from assets.text.words import count_tokens
from pipelines.resources.llm.client import ModelClient
from tests.faults.runs import Row
from tests.pipelines.ledger.ledger_stores import call, open_stores
from tests.pipelines.llm.scripted_server import on_a_port, settings_for
from tests.support.fault_kinds import ENDING, KINDS, ODD, ON_THE_WIRE, WORDS
from tests.support.fault_proxy import FaultProxy
from tests.support.simulated_provider.exchange import CapturedResponse, read, send_response
from tests.support.small import small_recipe
from tests.support.waiting import LONG

CAP = 1500  # tokens: of nearly fifty calls
CALLS = 120
AT_ONCE = 4


def words_to(question: str) -> str:
    """The reply to a question, in letters that encodings write differently."""
    return json.dumps({"name": f"Zoë: {question}"}, ensure_ascii=False)


async def say_what_was_asked(scope: Scope, receive: Receive, send: Send) -> None:
    """A model whose words, id and usage are those of the request, so that a reply to another one shows."""
    request = await read(scope, receive)
    assert request.content is not None
    words = words_to(request.content["messages"][-1]["content"])
    body = {
        "id": f"chatcmpl-{request.identity[:24]}",
        "model": request.content["model"],
        "choices": [{"index": 0, "message": {"role": "assistant", "content": words}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 18, "completion_tokens": count_tokens(words)},
    }
    await send_response(CapturedResponse(200, b"").with_content(body), send)


@pytest.mark.parametrize("kind", KINDS)
def test_cap(tmp_path: Path, note: Callable[[Row], None], kind: str) -> None:
    proxy = FaultProxy(say_what_was_asked, kind, rate=0.5, seed=19)
    recipe = small_recipe(budget={"max_tokens": CAP})
    requests = [call(number, model="m-1") for number in range(CALLS)]
    with on_a_port(proxy) as url, open_stores(tmp_path) as stores:

        async def ask_all() -> list[object]:
            timeout = 1.0 if kind in ON_THE_WIRE else LONG
            client = ModelClient(settings_for(url, max_in_flight=AT_ONCE, timeout_seconds=timeout))
            stack = stores.stack(client, recipe=recipe, at_once=AT_ONCE)
            return await asyncio.gather(*map(stack.complete, requests), return_exceptions=True)

        began = time.monotonic()
        ended = asyncio.run(ask_all())
    wrong = 0
    for request, end in zip(requests, ended, strict=True):
        if isinstance(end, ModelReply) and end.finish == "stop" and kind not in WORDS:
            wrong += end.text != words_to(request.messages[-1].content)
    beyond = proxy.billed - CAP
    seconds = round(time.monotonic() - began)
    cell = f"{kind}, 50 % under a cap of {CAP} tokens"
    struck = proxy.counts["spoiled"]
    note(Row(cell, struck=struck, repeated=proxy.repeated, wrong=wrong, beyond=beyond, seconds=seconds))
    assert {type(each) for each in ended if isinstance(each, BaseException)} <= {BudgetReached, EndpointError, RequestFailed}
    assert wrong == 0
    assert proxy.repeated == 0 or kind not in ODD
    assert proxy.billed > 0 or kind in ENDING
    assert beyond <= AT_ONCE * proxy.most_billed
