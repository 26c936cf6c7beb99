"""The model client speaks the chat API over a socket and in process, adapts to the endpoint, and keeps the limits."""

import asyncio
import math
import time
from collections.abc import Iterator
from dataclasses import replace

import pytest

from assets.llm.ports import CallLabels, EndpointError, ModelReply, Unbooked
from assets.llm.usage import prompt_tokens
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.settings import EndpointSettings
from tests.pipelines.llm.scripted_server import (
    CLOSED_SCHEMA,
    Answer,
    ScriptedServer,
    a_request,
    completion,
    fault,
    in_process,
    on_a_port,
    settings_for,
)
from tests.support.waiting import until


@pytest.fixture
def server() -> ScriptedServer:
    return ScriptedServer()


@pytest.fixture(params=["socket", "in process"])
def settings(server: ScriptedServer, request: pytest.FixtureRequest) -> Iterator[EndpointSettings]:
    if request.param == "in process":
        yield in_process(server)
        return
    with on_a_port(server) as url:
        yield settings_for(url)


def ask(settings: EndpointSettings, text: str = "Who?", *, schema: dict[str, object] | None = None) -> ModelReply:
    return asyncio.run(ModelClient(settings).complete(a_request(text, schema=schema)))


def test_a_reply_brings_text_and_tokens(settings: EndpointSettings, server: ScriptedServer) -> None:
    assert ask(settings, schema=CLOSED_SCHEMA) == ModelReply('{"name": "Ada"}', "stop", 11, 7)
    assert server.asked == [
        {
            "model": "m-1",
            "messages": [{"role": "system", "content": "Answer in JSON."}, {"role": "user", "content": "Who?"}],
            "temperature": 0.2,
            "max_tokens": 50,
            "seed": 42,
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "questions_draft", "schema": CLOSED_SCHEMA, "strict": True},
            },
        }
    ]


@pytest.mark.parametrize(
    ("answer", "finish", "text"),
    [
        (completion("half", finish="length"), "length", "half"),
        (completion("", finish="content_filter"), "refusal", ""),
        (completion("", refusal="I cannot."), "refusal", "I cannot."),
        (fault(400, "filtered", code="content_filter"), "refusal", ""),
    ],
)
def test_replies_have_a_finish(
    settings: EndpointSettings, server: ScriptedServer, answer: Answer, finish: str, text: str
) -> None:
    server.says(answer)
    reply = ask(settings)
    assert (reply.finish, reply.text) == (finish, text)


def test_missing_usage_is_estimated_and_parts_are_joined() -> None:
    parts = [{"type": "thinking"}, {"type": "text", "text": "Ada"}]
    server = ScriptedServer(always=Answer(body={"choices": [{"message": {"content": parts}}]}))
    reply = ask(in_process(server))
    read = prompt_tokens(["Answer in JSON.", "Who?"])
    assert reply == ModelReply("Ada", "stop", read, 1)


def test_two_event_loops_one_after_the_other(settings: EndpointSettings, server: ScriptedServer) -> None:
    client = ModelClient(settings)

    async def several() -> list[ModelReply]:
        return await asyncio.gather(*(client.complete(a_request(str(number))) for number in range(20)))

    for _ in range(2):
        assert len(asyncio.run(several())) == 20
    assert len(server.asked) == 40


def test_a_closed_client_opens_again(settings: EndpointSettings) -> None:
    async def twice() -> None:
        client = ModelClient(settings)
        await client.complete(a_request())
        await client.close()
        await client.complete(a_request())

    asyncio.run(twice())


def test_what_an_endpoint_does_not_take_is_left_out_once_and_for_all(
    settings: EndpointSettings, server: ScriptedServer
) -> None:
    server.says(
        fault(400, "Unsupported value: 'temperature' does not support 0.2 with this model.", param="temperature"),
        fault(400, "Unrecognized request argument supplied: max_tokens"),
        Answer(422, {"detail": [{"loc": ["body", "seed"], "msg": "Extra inputs are not permitted"}]}),
        fault(400, "Invalid schema for response_format", param="response_format"),
        fault(400, "response_format of type json_schema is unavailable"),
        fault(400, "json_object is not supported"),
    )
    client = ModelClient(settings)
    asyncio.run(client.complete(a_request(schema=CLOSED_SCHEMA)))
    asyncio.run(client.complete(a_request("Again?", schema=CLOSED_SCHEMA)))
    assert len(server.asked) == 8
    assert server.asked[4]["response_format"] != server.asked[3]["response_format"]
    assert server.asked[5]["response_format"] == {"type": "json_object"}
    assert server.asked[-1].keys() == {"model", "messages", "max_completion_tokens"}
    assert '"additionalProperties":false' in str(server.asked[-1]["messages"])


def test_calls_of_one_prompt_share_a_cache_key_until_an_endpoint_objects(
    settings: EndpointSettings, server: ScriptedServer
) -> None:
    server.says(completion(), fault(400, "Unrecognized request argument supplied: prompt_cache_key"))
    labelled = replace(a_request(), labels=CallLabels(prompt="answers/check", fingerprint="58e4ec62ac9d"))
    client = ModelClient(settings)
    for _ in range(3):
        asyncio.run(client.complete(labelled))
    assert [asked.get("prompt_cache_key") for asked in server.asked] == ["58e4ec62ac9d", "58e4ec62ac9d", None, None]


def test_any_other_bad_request_ends_the_run(settings: EndpointSettings, server: ScriptedServer) -> None:
    server.says(fault(400, "messages: roles must alternate"))
    with pytest.raises(EndpointError, match=r"rejected prompt 'questions/draft' .* \(400: messages: roles must alternate\)"):
        ask(settings)
    assert len(server.asked) == 1


def test_a_reply_is_stored_before_its_slot_is_used_again(server: ScriptedServer) -> None:
    client, asked_when_stored = ModelClient(in_process(server, max_in_flight=1)), list[int]()

    class Store(Unbooked):
        async def keep(self, reply: ModelReply) -> ModelReply:
            await asyncio.sleep(0.02)
            asked_when_stored.append(len(server.asked))
            return reply

    async def calls() -> None:
        await asyncio.gather(*(client.complete(a_request(str(number)), booking=Store()) for number in range(3)))

    asyncio.run(calls())
    assert asked_when_stored == [1, 2, 3]


def test_no_more_calls_are_in_flight_than_allowed(server: ScriptedServer) -> None:
    server.together = 3
    client = ModelClient(in_process(server, max_in_flight=3))

    async def many() -> None:
        await asyncio.gather(*(client.complete(a_request(str(number))) for number in range(30)))

    asyncio.run(many())
    assert server.most_at_once == 3


def test_no_more_requests_are_sent_per_minute_than_allowed(server: ScriptedServer) -> None:
    per_minute, requests = 1200, 40
    per_second = per_minute / 60  # also what may be sent at once in the beginning
    client = ModelClient(in_process(server, requests_per_minute=per_minute))

    async def many() -> None:
        await asyncio.gather(*(client.complete(a_request(str(number))) for number in range(requests)))

    began = time.monotonic()
    asyncio.run(many())
    last_sent_after = (requests - per_second) / per_second
    assert time.monotonic() - began > 0.9 * last_sent_after


def test_an_overloaded_endpoint_is_asked_less_and_recovers(server: ScriptedServer) -> None:
    server.says(*(fault(503) for _ in range(30)))
    server.together = 16
    client = ModelClient(in_process(server))

    async def many() -> None:
        await asyncio.gather(*(client.complete(a_request(str(number))) for number in range(60)))

    asyncio.run(many())
    assert server.most_at_once == 16
    assert len(server.asked) == 90


def test_a_cancelled_call_makes_room_for_the_next(server: ScriptedServer) -> None:
    server.says(Answer(hang=math.inf))
    client = ModelClient(in_process(server, max_in_flight=1))

    async def cancel_one() -> ModelReply:
        first = asyncio.create_task(client.complete(a_request("slow")))
        await until(lambda: server.asked)
        waiting = asyncio.create_task(client.complete(a_request("waiting")))
        second = asyncio.create_task(client.complete(a_request("quick")))
        for _ in range(100):  # turns of the event loop, in which both get in line
            await asyncio.sleep(0)
        waiting.cancel()
        first.cancel()
        return await second

    assert asyncio.run(cancel_one()).finish == "stop"
