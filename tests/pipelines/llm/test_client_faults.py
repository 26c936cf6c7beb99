"""What passes is tried again, what does not ends in one sentence, and the key is in none of them."""

import asyncio
import math
import socket
import traceback
from collections.abc import Iterator
from dataclasses import replace

import pytest

from assets.llm.ports import EndpointError, ModelReply
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.limits.concurrency import FIRST_LIMIT
from pipelines.resources.llm.settings import EndpointSettings
from tests.pipelines.llm.scripted_server import (
    KEY,
    Answer,
    ScriptedServer,
    a_request,
    completion,
    fault,
    in_process,
    on_a_port,
    settings_for,
)
from tests.support.waiting import LONG, until


@pytest.fixture
def server() -> ScriptedServer:
    return ScriptedServer()


@pytest.fixture
def url(server: ScriptedServer) -> Iterator[str]:
    with on_a_port(server) as address:
        yield address


def ask(settings: EndpointSettings) -> ModelReply:
    return asyncio.run(ModelClient(settings).complete(a_request()))


def sentence(settings: EndpointSettings) -> str:
    with pytest.raises(EndpointError) as caught:
        ask(settings)
    text = "".join(traceback.format_exception(caught.value))
    assert "openai." not in text, "the provider's exception, with its words, must not be in the traceback"
    assert caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize(
    "answer",
    [
        fault(408),
        fault(409),
        fault(429, code="rate_limit_exceeded"),
        fault(500),
        Answer(502, "<html>Bad gateway</html>"),
        fault(503),
        fault(529),
        Answer(drop=True),
        Answer(body={"error": {"code": 502, "message": "upstream"}}),
    ],
)
def test_what_may_pass_is_tried_again(url: str, server: ScriptedServer, answer: Answer) -> None:
    server.says(answer, answer)
    assert ask(settings_for(url)).finish == "stop"
    assert len(server.asked) == 3


@pytest.mark.parametrize(
    "headers",
    [
        {"Retry-After": "0.3"},
        {"Retry-After-Ms": "300"},
        {"X-RateLimit-Reset-Tokens": "300ms", "X-RateLimit-Remaining-Tokens": "0", "X-RateLimit-Reset-Requests": "1h"},
    ],
)
def test_a_wait_that_the_endpoint_asks_for_is_kept(server: ScriptedServer, headers: dict[str, str]) -> None:
    server.says(fault(429, headers=headers))
    ask(in_process(server))
    assert 0.3 <= server.times[1] - server.times[0] < LONG


def test_an_hour_is_not_waited_for(server: ScriptedServer) -> None:
    server.says(fault(429, headers={"Retry-After": "3600"}))
    assert "asks to be left alone for 3600 seconds" in sentence(in_process(server))


@pytest.mark.parametrize("over_a_socket", [True, False])
def test_a_hanging_endpoint_times_out(server: ScriptedServer, url: str, over_a_socket: bool) -> None:
    server.says(Answer(hang=math.inf))
    make = settings_for(url, timeout_seconds=0.5) if over_a_socket else in_process(server, timeout_seconds=0.5)
    assert ask(make).finish == "stop"
    assert len(server.asked) > 1


def test_after_ten_tries_the_run_ends(server: ScriptedServer) -> None:
    server.always = fault(500, "the oven is cold")
    message = sentence(in_process(server))
    assert "http://model/v1 failed (500: the oven is cold) at the last of 10 tries" in message
    assert len(server.asked) == 10


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (fault(401, f"Incorrect API key provided: {KEY[:8]}***{KEY[-4:]}."), ["API key (401)", "AMEMGYM_API_KEY"]),
        (fault(403, f"{KEY} may not"), ["denied access (403: [hidden] may not)", "'m-1'", "AMEMGYM_API_KEY"]),
        (fault(404, "The model does not exist."), ["'m-1' (404: The model does not exist)", "AMEMGYM_BASE_URL"]),
        (fault(429, f"Quota of {KEY}", code="insufficient_quota"), ["no quota left", "add credit"]),
        (fault(402, "Insufficient balance"), ["no quota left", "Insufficient balance"]),
        (fault(400, "maximum context length is 8 tokens"), ["too long for the model 'm-1'", "max_output_tokens"]),
        (fault(400, f"messages: {'x' * 5000}"), ["(400: messages: xxx", "x…)"]),
        (Answer(404, "<html>" + KEY), ["does not know the model 'm-1' (404);"]),
        (Answer(418, {"echo": KEY, "detail": {"Authorization": f"Bearer {KEY[:12]}"}}), ["418"]),
    ],
)
def test_what_cannot_pass_ends_the_run_at_once(url: str, server: ScriptedServer, answer: Answer, words: list[str]) -> None:
    server.says(answer)
    message = sentence(settings_for(url))
    assert len(server.asked) == 1
    assert message.startswith(f"The model endpoint {url} ")
    assert [word for word in words if word not in message] == []
    assert len(message) < 600
    assert [KEY[at : at + 6] for at in range(len(KEY) - 5) if KEY[at : at + 6] in message] == []
    assert KEY[-4:] not in message


def test_a_missing_key_is_asked_for(server: ScriptedServer) -> None:
    server.says(fault(401))
    assert "asks for an API key (401); put a valid key into AMEMGYM_API_KEY" in sentence(in_process(server, api_key=None))


def test_a_server_that_is_not_there_is_told_after_three_tries() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # and nobody listens
        port = held.getsockname()[1]
        message = sentence(settings_for(f"http://user:secret@127.0.0.1:{port}/v1", api_key=None))
    assert f"http://127.0.0.1:{port}/v1 could not be reached at the last of 3 tries; start the server" in message


def test_however_many_calls_wait_a_server_that_is_not_there_is_told_after_three_rounds(server: ScriptedServer) -> None:
    server.always = Answer(body="<html>Welcome</html>", hang=0.01)
    client = ModelClient(in_process(server))

    async def a_run() -> set[str]:
        together = (client.complete(a_request(str(number))) for number in range(200))
        return {str(end) for end in await asyncio.gather(*together, return_exceptions=True)}

    (message,) = asyncio.run(asyncio.wait_for(a_run(), timeout=LONG))
    assert "not a chat completion at the last of 3 tries" in message
    assert len(server.asked) <= 3 * FIRST_LIMIT


def test_an_address_that_is_no_chat_api_is_told_after_three_tries(server: ScriptedServer) -> None:
    server.always = Answer(body="<html>Welcome</html>")
    assert "not a chat completion at the last of 3 tries; check that AMEMGYM_BASE_URL" in sentence(in_process(server))


def test_after_the_end_every_call_fails_at_once_and_the_next_run_asks_anew(server: ScriptedServer) -> None:
    server.always, server.together = fault(401), 16
    client = ModelClient(in_process(server))

    async def a_run() -> set[str]:
        together = (client.complete(a_request(str(number))) for number in range(200))
        ends = await asyncio.gather(*together, return_exceptions=True)
        with pytest.raises(EndpointError):
            await client.complete(a_request("later"))
        return {str(end) for end in ends}

    assert len(asyncio.run(a_run())) == 1
    assert len(server.asked) == 16, "only those in flight when the first answer came"
    server.always = completion()
    assert asyncio.run(client.complete(a_request())).finish == "stop"


def test_a_waiting_call_wakes_when_the_run_ends(server: ScriptedServer) -> None:
    server.says(fault(429, headers={"Retry-After": "250"}))
    server.always = fault(401)
    client = ModelClient(in_process(server))

    async def a_run() -> None:
        waiting = asyncio.create_task(client.complete(a_request("waits")))
        await until(lambda: server.asked)
        # A limit holds back whatever asks the same model.
        ends = await asyncio.gather(waiting, client.complete(replace(a_request("ends"), model="m-2")), return_exceptions=True)
        assert [type(end) for end in ends] == [EndpointError, EndpointError]

    asyncio.run(asyncio.wait_for(a_run(), timeout=LONG))
