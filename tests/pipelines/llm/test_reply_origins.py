"""The name that a reply bears tells which model wrote it; no reply is used before that is clear."""

import asyncio
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from assets.llm.ports import EndpointError, ModelReply
from pipelines.embedded.bank import model_name
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.reply_origins import ENOUGH_NAMES, ReplyOrigins
from tests.pipelines.llm.batched import jobs_at
from tests.pipelines.llm.scripted_server import Answer, ScriptedServer, a_request, completion, fault, on_a_port, settings_for
from tests.pipelines.llm.test_batch_answers import OtherService, ask_all
from tests.support.fault_kinds import INSTEAD
from tests.support.simulated_provider.exchange import read, send_response


def named(name: str, text: str = "words") -> Answer:
    body: Any = completion(text).body
    return Answer(body={**body, "model": name})


def ask(server: ASGIApp, *texts: str) -> list[ModelReply]:
    async def in_turn() -> list[ModelReply]:
        client = ModelClient(settings_for("http://model/v1", transport=httpx2.ASGITransport(app=server)))
        return [await client.complete(a_request(text)) for text in texts]

    return asyncio.run(in_turn())


def test_a_reply_of_another_model_is_never_used_though_it_comes_first() -> None:
    server = ScriptedServer()
    server.says(*[named("tiny-1", "wrong")] * 3, named("m-1"), named("tiny-1", "wrong"), named("m-1"))
    assert [reply.text for reply in ask(server, "a", "b")] == ["words", "words"]
    assert len(server.asked) == 6


def test_a_name_of_the_endpoints_own_counts_after_some_replies_and_no_other_does_then() -> None:
    server = ScriptedServer(always=named("deployed"))
    server.says(*[named("deployed")] * ENOUGH_NAMES, named("tiny-1", "wrong"), named("deployed"))
    assert [reply.text for reply in ask(server, "a", "b", "c")] == ["words"] * 3
    assert len(server.asked) == ENOUGH_NAMES + 3


def test_a_router_that_names_a_model_each_time_is_believed() -> None:
    server = ScriptedServer()
    server.says(*[named(f"model-{number}") for number in range(ENOUGH_NAMES + 1)])
    assert len(ask(server, "a", "b")) == 2
    assert len(server.asked) == ENOUGH_NAMES + 1


@pytest.mark.parametrize(
    ("asked", "name", "same"),
    [
        ("gpt-4o", "gpt-4o-2024-08-06", True),
        ("gpt-4o-2024-08-06", "gpt-4o", True),
        ("claude-sonnet-4-latest", "claude-sonnet-4-20250514", True),
        ("org/Qwen3-8B", "qwen3-8b", True),
        ("qwen3:8b", "qwen3:8b-q4_K_M", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("gpt-4", "gpt-4.1", False),
        ("gpt-4o-2024-08-06", "gpt-4o-2024-11-20", False),
    ],
)
def test_a_version_names_the_same_model_and_a_size_another(asked: str, name: str, same: bool) -> None:
    assert (ReplyOrigins().find_other_model(asked, name) is None) == same


def test_a_line_of_a_batch_job_that_another_model_wrote_is_asked_again(tmp_path: Path) -> None:
    spoiled: list[str] = []

    def results(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if not spoiled:
            body = rows[0]["response"]["body"]
            spoiled.append("wrong")
            message = {"role": "assistant", "content": "wrong"}
            choice = {**body["choices"][0], "message": message}
            rows[0]["response"]["body"] = {**body, "model": f"{model_name()}-mini", "choices": [choice]}
        return rows

    with on_a_port(OtherService(results=results)) as url:
        texts = [reply.text for reply in ask_all(url, tmp_path)]
        jobs = len(jobs_at(url))
    assert (spoiled, "wrong" in texts, jobs) == (["wrong"], False, 2)


def test_a_limit_for_a_day_ends_the_run_and_one_servers_maintenance_does_not() -> None:
    limited = ScriptedServer(always=fault(429, "Daily limit.", headers={"retry-after": "86400"}))
    with pytest.raises(
        EndpointError, match="asks to be left alone for 86400 seconds; wait until then, and start the run again"
    ) as told:
        ask(limited, "a")
    assert (type(told.value), len(limited.asked)) == (EndpointError, 1)
    down = ScriptedServer()
    down.says(fault(503, "Maintenance.", headers={"retry-after": "86400"}), completion("words"))
    assert ask(down, "a")[0].text == "words"


@pytest.mark.parametrize("kind", ["byte_order_mark", "utf_16", "windows_1252"])
def test_words_in_another_encoding_are_read_as_they_were_written(kind: str) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await read(scope, receive)
        body: Any = completion("Zoë").body
        await send_response(INSTEAD[kind](body), send)

    assert ask(app, "a")[0].text == "Zoë"


@pytest.mark.parametrize("status", [421, 424, 499])
def test_a_try_that_a_gateway_lost_is_tried_again(status: int) -> None:
    server = ScriptedServer()
    server.says(Answer(status, "<html>"), completion("words"))
    assert ask(server, "a")[0].text == "words"


def test_a_call_that_is_sent_on_to_a_page_ends_the_run() -> None:
    server = ScriptedServer(always=Answer(302, "", headers={"location": "/login"}))
    with pytest.raises(EndpointError, match="sends requests on to http://model; put the address"):
        ask(server, "a")
    assert len(server.asked) == 1
