"""Whoever answers may send anything: what is too large or spoiled is the fault of its call, and is not read to its end."""

import asyncio
import json
import tracemalloc
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

import httpx2
import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from assets.llm.ports import EndpointError, ModelReply, RequestFailed
from assets.records.limits import MB
from pipelines.bounded_http import BodyTooLarge, BoundedAsyncClient, BoundedClient, RedirectedElsewhere
from pipelines.memories.failures import MemoryFailed
from pipelines.memories.services.http_service import HttpMemory
from pipelines.redaction import Redactor
from pipelines.resources.hub.retry import classify
from pipelines.resources.llm.batch.client import BatchResult, read_results
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.connection import MOST_BYTES
from pipelines.resources.llm.embeddings import ModelEmbedder, OpenAiEmbeddings
from pipelines.resources.llm.errors import FailureClassifier
from tests.pipelines.llm.scripted_server import (
    Answer,
    ScriptedServer,
    a_request,
    completion,
    in_process,
    on_a_port,
    settings_for,
)
from tests.support.fault_kinds import bomb
from tests.support.simulated_provider.exchange import send_response


class Spoiling:
    """An ASGI app before a scripted one: the first so many requests get another answer."""

    def __init__(self, answer: Callable[[Send], Awaitable[None]], *, times: float) -> None:
        self.app = ScriptedServer()
        self._answer, self._times = answer, times
        self.spoiled = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self.spoiled < self._times:
            self.spoiled += 1
            await self._answer(send)
        else:
            await self.app(scope, receive, send)


async def exploding(send: Send) -> None:
    await send_response(bomb(), send)


async def exploding_elsewhere(send: Send) -> None:
    await send_response(replace(bomb(), status=307).with_headers({"location": "/v1/chat/completions"}), send)


async def endless(send: Send) -> None:
    """An answer without an end; a client that goes away ends it."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    for _ in range(100 * MB // 65536):
        await send({"type": "http.response.body", "body": bytes(65536), "more_body": True})
    await asyncio.Event().wait()


def ask(app: ASGIApp) -> ModelReply:
    settings = settings_for("http://model/v1", transport=httpx2.ASGITransport(app=app))
    return asyncio.run(ModelClient(settings).complete(a_request()))


def peak_of(work: Callable[[], object]) -> int:
    """The most memory that Python's objects took meanwhile, in bytes."""
    bomb()  # made once, before anything is measured
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("answer", [exploding, exploding_elsewhere])
def test_a_bomb_is_not_unpacked_and_the_call_is_tried_again(answer: Callable[[Send], Awaitable[None]]) -> None:
    app = Spoiling(answer, times=1)
    assert peak_of(lambda: ask(app)) < 32 * MB
    assert (app.spoiled, len(app.app.asked)) == (1, 1)


def test_an_answer_without_an_end_is_left() -> None:
    app = Spoiling(endless, times=1)
    with on_a_port(app) as url:
        assert asyncio.run(ModelClient(settings_for(url)).complete(a_request())).finish == "stop"


def test_a_call_that_always_gets_too_much_is_given_up_with_one_sentence() -> None:
    with pytest.raises(
        RequestFailed, match=r"answered with more than 4 MB, more than any reply has at the last of 10 tries; look"
    ):
        ask(Spoiling(exploding, times=float("inf")))


def test_other_calls_get_their_replies_while_one_gets_too_much() -> None:
    app = Spoiling(exploding, times=5)
    settings = settings_for("http://model/v1", transport=httpx2.ASGITransport(app=app))

    async def many() -> list[ModelReply]:
        client = ModelClient(settings)
        return await asyncio.gather(*(client.complete(a_request(str(number))) for number in range(60)))

    assert len(asyncio.run(many())) == 60
    assert len(app.app.asked) == 60


def test_embeddings_may_be_larger_than_a_reply() -> None:
    vector = [0.123456789012345] * 6000
    server = ScriptedServer()
    server.says(Answer(body={"data": [{"index": index, "embedding": vector} for index in range(60)]}))
    embedder = ModelEmbedder(ModelClient(in_process(server), api=OpenAiEmbeddings()))
    assert len(json.dumps([vector] * 60)) > MOST_BYTES
    assert len(asyncio.run(embedder.embed([str(number) for number in range(60)], model="e-1"))) == 60


@pytest.mark.parametrize("spoiled", [b"half of \\ud83d", b"no UTF-8 \xff"])
def test_half_a_character_in_a_reply_does_not_cost_the_reply(spoiled: bytes) -> None:
    body = json.dumps(completion("half").body).encode().replace(b'"half"', b'"' + spoiled + b'"')

    async def answer(send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    app = Spoiling(answer, times=1)
    reply = ask(app)
    assert "\ufffd" in reply.text
    assert (app.spoiled, app.app.asked, reply.output_tokens) == (1, [], 7)
    assert reply.text.encode()


def test_a_line_of_a_batch_may_be_spoiled_or_too_large_and_no_other_is_lost() -> None:
    def row(custom_id: str, text: str) -> bytes:
        return json.dumps({"custom_id": custom_id, "response": {"status_code": 200, "body": completion(text).body}}).encode()

    rows = [row("fine", "{}"), row("half", "half of \ud83d"), row("large", "x" * MOST_BYTES)]
    results = read_results([b"\n".join(rows)])
    assert {name: bool(result.reply()) for name, result in results.items()} == {"fine": True, "half": True, "large": False}
    failure = results["large"].failure(a_request(), FailureClassifier(in_process(ScriptedServer())))
    assert failure.kind == "transient"
    assert "more than 4 MB" in failure.problem


def test_a_line_of_a_batch_is_read_as_a_live_reply_is() -> None:
    def result(body: object) -> BatchResult:
        return BatchResult.model_validate({"custom_id": "a", "response": {"status_code": 200, "body": body}})

    thought = result(completion("<think>Bob?</think>Ada").body).reply()
    assert thought is not None
    assert thought.text == "Ada"
    failures = FailureClassifier(in_process(ScriptedServer()))
    half = result(completion("half a te", finish="error").body)
    error = result({"error": {"code": 429, "message": "slow down"}})
    assert (half.reply(), error.reply()) == (None, None)
    assert half.failure(a_request(), failures).kind == "transient"
    assert error.failure(a_request(), failures).kind == "limited"


def test_a_result_that_is_none_at_all_is_left_out() -> None:
    assert read_results([b'not json\n{"custom_id": 1}\n']) == {}
    assert BatchResult(custom_id="a").reply() is None


def test_a_memory_service_that_gives_back_too_much_is_told() -> None:
    async def recall(url: str) -> None:
        memory = HttpMemory(address=url)
        with pytest.raises(MemoryFailed, match=r"answered with more than 16 MB at .*/write; let it give back less"):
            await memory.write([])

    with on_a_port(Spoiling(exploding, times=1)) as url:
        assert peak_of(lambda: asyncio.run(recall(url))) < 64 * MB


def test_a_hub_that_sends_too_much_is_told() -> None:
    with on_a_port(Spoiling(exploding, times=1)) as url, BoundedClient(most_bytes=8 * MB) as client:
        with pytest.raises(BodyTooLarge) as caught:
            client.get(url)
        assert client.post(f"{url}/chat/completions", json={}).json()["usage"] == {"prompt_tokens": 11, "completion_tokens": 7}
    failure = classify(caught.value, host="hub", redactor=Redactor(""))
    assert (failure.kind, failure.what) == ("fatal", "it answered with more than 8 MB")


def test_redirects_are_followed_and_streams_left_to_their_reader() -> None:
    async def redirect(send: Send) -> None:
        await send({"type": "http.response.start", "status": 307, "headers": [(b"location", b"/v1/chat/completions")]})
        await send({"type": "http.response.body", "body": b"elsewhere"})

    async def both(app: Spoiling) -> tuple[int, int]:
        transport = httpx2.ASGITransport(app=app)
        async with BoundedAsyncClient(most_bytes=MB, transport=transport, follow_redirects=True) as client:
            followed = await client.post("http://model/v1/x", json={"n": 1})
            async with client.stream("POST", "http://model/v1/x", json={"n": 2}) as stream:
                return followed.status_code, len(await stream.aread())

    app = Spoiling(redirect, times=1)
    status, length = asyncio.run(both(app))
    assert (status, [one["n"] for one in app.app.asked], length > 0) == (200, [1, 2], True)


@pytest.mark.parametrize(
    ("place", "asked"),
    [
        ("http://model", [True, True]),
        ("https://model", [True, True]),
        ("http://elsewhere", [True]),
        ("http://model:81", [True]),
    ],
)
def test_a_login_goes_along_with_a_redirect_and_to_no_other_server(place: str, asked: list[bool]) -> None:
    logins: list[bool] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        logins.append(any(name == b"authorization" for name, _ in scope["headers"]))
        status = 307 if len(logins) == 1 else 200
        headers = [(b"location", f"{place}/y".encode())] if status == 307 else []
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    async def ask_there() -> None:
        transport, login = httpx2.ASGITransport(app=app), httpx2.BasicAuth("user", "password")
        async with BoundedAsyncClient(most_bytes=MB, transport=transport, auth=login, follow_redirects=True) as client:
            with suppress(RedirectedElsewhere):
                await client.post("http://model/x", json={})

    asyncio.run(ask_there())
    assert logins == asked


def test_redirects_without_an_end_are_an_error_of_the_call() -> None:
    async def redirect(send: Send) -> None:
        await send({"type": "http.response.start", "status": 307, "headers": [(b"location", b"/v1/chat/completions")]})
        await send({"type": "http.response.body", "body": b""})

    with pytest.raises(EndpointError, match="dropped the connection"):
        ask(Spoiling(redirect, times=float("inf")))
