"""Each server is asked over HTTP as it answers today: what it does not take is found out once, and every answer is read."""

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import pytest
from pydantic import JsonValue

from assets.llm.answer_text import read_json
from assets.llm.ports import ModelReply, ModelRequest, RequestFailed
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.compatibility import LearnedCompatibility
from tests.pipelines.llm import imitations
from tests.pipelines.llm.imitations import CONTEXT, PROMPT, Body, Imitation
from tests.pipelines.llm.scripted_server import CLOSED_SCHEMA, Answer, a_request, fault, on_a_port, settings_for

CALLS = 4
ROOM = 8_192


@dataclass(frozen=True)
class Expected:
    """`refused`: requests that the server refuses before the first reply. `sent`: fields of the last request, None: absent.

    `in_doubt`: its words may be of one request alone, so that the next call is refused as often.
    """

    answer: Callable[[Body], Answer]
    model: str
    refused: int
    sent: dict[str, Any]
    extra_body: dict[str, JsonValue] | None = None
    in_doubt: bool = False


SERVERS = [
    Expected(
        imitations.gpt5,
        "gpt-5-mini",
        2,
        {"max_completion_tokens": ROOM, "max_tokens": None, "temperature": None, "reasoning_effort": "low"},
        {"reasoning_effort": "low"},
    ),
    Expected(imitations.o1_mini, "o1-mini", 3, {"messages": ["user"], "temperature": None, "max_completion_tokens": ROOM}),
    Expected(imitations.vllm, "Qwen/Qwen3-32B", 1, {"max_tokens": CONTEXT - PROMPT, "temperature": 0.2}),
    Expected(imitations.vllm_without_parser, "/models/gemma.gguf", 1, {"messages": ["user"]}),
    Expected(imitations.llama_cpp, "qwen3", 2, {"response_format": "json_object"}, in_doubt=True),
    Expected(imitations.ollama, "qwen3:8b", 0, {"max_tokens": ROOM, "reasoning_effort": "none"}, {"reasoning_effort": "none"}),
    Expected(imitations.lm_studio, "qwen/qwen3.5-9b", 0, {"response_format": "json_schema"}),
    Expected(
        imitations.openrouter,
        "openai/gpt-oss-20b:free",
        2,
        {"response_format": "json_object"},
        {"provider": {"require_parameters": True}},
        in_doubt=True,
    ),
    Expected(imitations.gemini, "models/gemini-2.5-flash", 2, {"response_format": "json_object", "seed": None}),
    Expected(imitations.dashscope, "qwq-plus", 1, {"stream": True, "max_tokens": ROOM}, in_doubt=True),
    Expected(imitations.mistral, "magistral-medium", 1, {"seed": None, "max_tokens": ROOM}),
    Expected(imitations.deepseek, "deepseek-reasoner", 2, {"response_format": "json_object"}),
]


def a_call(text: str, expected: Expected) -> ModelRequest:
    request = replace(a_request(text, schema=CLOSED_SCHEMA), model=expected.model, max_output_tokens=ROOM)
    return replace(request, extra_body=expected.extra_body or {})


def ask(url: str, *requests: ModelRequest) -> list[ModelReply]:
    """Ask one after another by one client."""

    async def all_of_them() -> list[ModelReply]:
        client = ModelClient(settings_for(url))
        return [await client.complete(request) for request in requests]

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("expected", SERVERS, ids=lambda expected: expected.answer.__name__)
def test_what_a_server_does_not_take_is_found_out_once_and_its_answer_is_read(expected: Expected) -> None:
    server = Imitation(expected.answer)
    with on_a_port(server) as url:
        replies = ask(url, *(a_call(f"Question {number}?", expected) for number in range(CALLS)))
    for reply in replies:
        assert (read_json(reply.text, keys=["name"]), reply.finish) == ({"name": "Ada"}, "stop")
    assert all(reply.input_tokens > 0 and reply.output_tokens > 0 for reply in replies)
    assert len(server.asked) == expected.refused * (1 + expected.in_doubt) + CALLS
    last = server.asked[-1]
    seen = {name: last.get(name) for name in expected.sent}
    if "messages" in seen:
        seen["messages"] = [each["role"] for each in last["messages"]]
    if "response_format" in seen:
        seen["response_format"] = imitations.form(last)
    assert seen == expected.sent
    assert "Answer in JSON." in last["messages"][0]["content"]
    assert last["model"] == expected.model


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("https://api.openai.com/v1", "max_completion_tokens"),
        ("https://eu.api.openai.com/v1", "max_completion_tokens"),
        ("https://mine.openai.azure.com/openai/v1", "max_completion_tokens"),
        ("http://127.0.0.1:11434/v1", "max_tokens"),
        ("https://gateway.example/openai.com/v1", "max_tokens"),
    ],
)
def test_a_replys_limit_has_the_name_that_nobody_ignores_at_the_address(address: str, name: str) -> None:
    assert LearnedCompatibility(address).of("m").limit_names[0] == name


def test_two_names_that_are_both_refused_are_not_tried_for_ever() -> None:
    def refuse(body: Body) -> Answer:
        (name,) = {"max_tokens", "max_completion_tokens"} & body.keys()
        return fault(400, f"Unsupported parameter: {name!r}", param=name)

    server = Imitation(refuse)
    with on_a_port(server) as url, pytest.raises(RequestFailed, match="max_completion_tokens"):
        ask(url, a_request())
    assert len(server.asked) == 2


def test_a_prompt_that_was_read_in_part_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    long = a_request("A word about tea and the people who drink it. " * 800)
    with on_a_port(Imitation(imitations.ollama)) as url:
        ask(url, a_request("Short?"), long, long)
    (told,) = caplog.messages
    assert "read 2,048 tokens of a prompt of about 8,912" in told
    assert told.endswith("Give the model 'm-1' a longer context there.")


def test_a_reply_that_ends_before_its_room_is_told_as_a_short_context(caplog: pytest.LogCaptureFixture) -> None:
    cut = imitations.message(content=None, reasoning="Hmm", finish="length")
    with on_a_port(Imitation(lambda _: cut)) as url:
        (reply,) = ask(url, replace(a_request(), max_output_tokens=ROOM))
    assert (reply.text, reply.finish) == ("", "length")
    assert "ended a reply at 7 of 8,192 tokens, as if its context held 1,207 tokens" in caplog.text


def test_a_cut_reply_without_a_usage_says_nothing_of_a_context(caplog: pytest.LogCaptureFixture) -> None:
    cut = Answer(body={"choices": [{"message": {"content": "half"}, "finish_reason": "length"}]})
    with on_a_port(Imitation(lambda _: cut)) as url:
        ask(url, replace(a_request(), max_output_tokens=ROOM))
    assert not caplog.messages


@pytest.mark.parametrize(
    "events",
    [
        [{"choices": [{"delta": {"content": '{"na'}}]}],
        [{"choices": [{"delta": {"content": '{"na'}}]}, {"error": {"code": 502, "message": "upstream"}}],
    ],
)
def test_a_stream_that_breaks_off_is_no_answer(events: list[Body]) -> None:
    broken = Answer(body="".join(f"data: {json.dumps(event)}\n\n" for event in events))
    answers = [imitations.message(content="{}"), broken]
    with on_a_port(Imitation(lambda _: answers.pop())) as url:
        (reply,) = ask(url, a_request())
    assert reply.text == "{}"


def test_a_field_of_ones_own_that_is_refused_is_named_with_where_it_stands() -> None:
    request = replace(a_request(), extra_body={"reasoning_effort": "low"})
    refused = fault(400, "Unrecognized request argument supplied: reasoning_effort")
    with on_a_port(Imitation(lambda _: refused)) as url, pytest.raises(RequestFailed) as told:
        ask(url, request)
    assert "change reasoning_effort in the extra_body of the model's settings" in str(told.value)


def test_a_grammar_that_is_too_large_is_no_prompt_that_is_too_long() -> None:
    def azure(body: Body) -> Answer:
        words = "The compiled grammar is too large, which would cause performance issues."
        return fault(400, words) if imitations.form(body) == "json_schema" else imitations.message(content="{}")

    with on_a_port(Imitation(azure)) as url:
        (reply,) = ask(url, a_request(schema=CLOSED_SCHEMA))
    assert reply.text == "{}"


UNKNOWN_PARTS = ("response_format", "seed", "temperature", "prompt_cache_key")


@pytest.mark.parametrize("part", UNKNOWN_PARTS)
@pytest.mark.parametrize("words", ["output_config.format: Extra inputs are not permitted", "A parameter is wrong"])
def test_a_part_that_is_refused_in_unknown_words_is_found_by_leaving_parts_out(part: str, words: str) -> None:
    server = Imitation(lambda body: fault(400, words) if part in body else imitations.message(content='{"name": "Ada"}'))
    requests = [a_request(f"Question {number}?", schema=CLOSED_SCHEMA) for number in range(4)]
    requests = [replace(each, labels=replace(each.labels, fingerprint="ab12")) for each in requests]
    with on_a_port(server) as url:
        replies = ask(url, *requests)
    assert [reply.text for reply in replies] == ['{"name": "Ada"}'] * 4
    others = set(UNKNOWN_PARTS) - {part}
    assert [others <= body.keys() for body in server.asked[-2:]] == [True, True], "nothing else is given up"
    assert part not in server.asked[-2], "what helped is kept for the calls after it"


def test_a_request_that_is_refused_whatever_is_left_out_ends_with_the_endpoints_words() -> None:
    server = Imitation(lambda _: fault(400, "A parameter is wrong"))
    with on_a_port(server) as url, pytest.raises(RequestFailed, match="A parameter is wrong"):
        ask(url, a_request(schema=CLOSED_SCHEMA))
    assert len({json.dumps(body, sort_keys=True) for body in server.asked}) == len(server.asked), "nothing is asked twice"


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_what_a_server_sends_beyond_a_reply_is_no_reply_to_the_next_call(seconds: float) -> None:
    """Answers each request with its own number, and sends another reply behind, at once or a moment later."""

    async def answer_twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                content = await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
                asked = json.loads(content)["messages"][-1]["content"]
                reply, second = (_whole_answer(text) for text in (asked, "of nobody's question"))
                if seconds:
                    writer.write(reply)
                    await asyncio.sleep(seconds)
                    writer.write(second)
                else:
                    writer.write(reply + second)
        writer.close()

    async def ask_all() -> list[str]:
        async with await asyncio.start_server(answer_twice, "127.0.0.1", 0) as server:
            client = ModelClient(settings_for(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"))
            texts = list[str]()
            for number in range(6):
                texts.append((await client.complete(a_request(str(number)))).text)
            await client.close()
            return texts

    assert asyncio.run(ask_all()) == ["0", "1", "2", "3", "4", "5"]


def _whole_answer(text: str) -> bytes:
    body = json.dumps(imitations.message(content=text).body).encode()
    return b"HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: %d\r\n\r\n" % len(body) + body
