"""Another provider's API is a class of three functions: retries, refusals and sentences are those of every endpoint."""

import asyncio
from dataclasses import dataclass

import openai
import pytest
from pydantic import BaseModel, ValidationError

from assets.llm.ports import EndpointError, FinishReason, ModelReply, ModelRequest
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.compatibility import ApiCompatibility
from pipelines.resources.llm.errors import ErrorResponse, NoReply
from pipelines.resources.llm.model_api import ApiCall
from tests.pipelines.llm.scripted_server import KEY, Answer, ScriptedServer, a_request, fault, on_a_port, settings_for

FINISHES: dict[str, FinishReason] = {"max_tokens": "length", "refusal": "refusal"}


class Part(BaseModel):
    text: str = ""


class Usage(BaseModel):
    input_tokens: int
    output_tokens: int


class MessageReply(BaseModel):
    content: list[Part]
    stop_reason: str
    usage: Usage


@dataclass(frozen=True)
class Messages:
    """An API in the shape of Anthropic's messages."""

    key: str
    most_bytes: int = 10_000

    def call(self, request: ModelRequest, *, compatibility: ApiCompatibility) -> ApiCall:
        turns = [{"role": each.role, "content": each.content} for each in request.messages if each.role != "system"]
        system = "\n".join(each.content for each in request.messages if each.role == "system")
        body: dict[str, object] = {"model": request.model, "max_tokens": request.max_output_tokens, "messages": turns}
        return ApiCall("/messages", body | {"system": system}, headers={"x-api-key": self.key})

    def read_reply(self, request: ModelRequest, content: bytes) -> ModelReply | NoReply:
        try:
            reply = MessageReply.model_validate_json(content)
        except ValidationError:
            return "foreign"
        text = "".join(part.text for part in reply.content)
        finish = FINISHES.get(reply.stop_reason, "stop")
        return ModelReply(text, finish, reply.usage.input_tokens, reply.usage.output_tokens)

    def read_error(self, error: openai.APIStatusError) -> ErrorResponse:
        return ErrorResponse.read(error)


def message(text: str, *, stop: str = "end_turn") -> Answer:
    part = {"type": "text", "text": text}
    return Answer(body={"content": [part], "stop_reason": stop, "usage": {"input_tokens": 5, "output_tokens": 3}})


def asked(server: ScriptedServer) -> ModelReply:
    """What a request comes to at this server, over a socket."""
    with on_a_port(server) as url:
        return asyncio.run(ModelClient(settings_for(url), api=Messages(KEY)).complete(a_request()))


def test_a_request_is_written_and_its_reply_read_as_the_api_has_them() -> None:
    server = ScriptedServer(always=message("Hello."))
    reply = asked(server)
    assert reply.text == "Hello."
    assert reply.finish == "stop"
    assert reply.input_tokens == 5
    assert reply.output_tokens == 3
    assert set(server.asked[0]) == {"model", "max_tokens", "messages", "system"}


def test_an_overloaded_endpoint_is_tried_again() -> None:
    server = ScriptedServer(always=message("Hello."))
    server.says(fault(529, "Overloaded", type="overloaded_error"))
    assert asked(server).text == "Hello."
    assert len(server.asked) == 2


def test_a_refusal_is_a_refusal() -> None:
    assert asked(ScriptedServer(always=message("No.", stop="refusal"))).finish == "refusal"


def test_a_wrong_key_ends_the_run_in_one_sentence_without_the_key() -> None:
    with pytest.raises(EndpointError, match="does not accept the API key") as caught:
        asked(ScriptedServer(always=fault(401, "invalid x-api-key", type="authentication_error")))
    assert KEY not in str(caught.value)


def test_what_is_no_reply_of_the_api_says_so() -> None:
    with pytest.raises(EndpointError, match="something that is not"):
        asked(ScriptedServer(always=Answer(body={"choices": []})))
