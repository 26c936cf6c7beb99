"""Servers that take, refuse and answer a chat completion as a real one does; errors are in its words and its form."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from tests.pipelines.llm.scripted_server import Answer, completion, fault

Body = dict[str, Any]
JSON = '{"name": "Ada"}'
THOUGHT = 'The user wants JSON, perhaps {"name": "Bob"}.'
CONTEXT = 4_096  # tokens of the local servers
PROMPT = 1_200  # tokens that they count of each prompt


@dataclass
class Imitation:
    """An ASGI app that answers by a function of the request's body, and remembers what it was asked."""

    answer: Callable[[Body], Answer]
    asked: list[Body] = field(default_factory=list[Body])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = json.loads(await Request(scope, receive).body())
        self.asked.append(body)
        answer = self.answer(body)
        content = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        kind = "text/event-stream" if isinstance(answer.body, str) else "application/json"
        await Response(content, answer.status, dict(answer.headers), kind)(scope, receive, send)


def message(*, finish: str = "stop", **fields: Any) -> Answer:
    """A completion whose message has these fields."""
    usage = {"prompt_tokens": PROMPT, "completion_tokens": 7}
    choice = {"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": finish}
    return Answer(body={"choices": [choice], "usage": usage})


def form(body: Body) -> str:
    """The kind of reply that is asked for."""
    return body.get("response_format", {}).get("type", "text")


def gpt5(body: Body) -> Answer:
    """OpenAI's models that reason: one name of the limit, no temperature but its own."""
    if "max_tokens" in body:
        words = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        return fault(400, words, type="invalid_request_error", param="max_tokens", code="unsupported_parameter")
    if body.get("temperature", 1) != 1:
        words = (
            "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported."
        )
        return fault(400, words, type="invalid_request_error", param="temperature", code="unsupported_value")
    return completion()


def o1_mini(body: Body) -> Answer:
    """The first of them, which has neither a system nor a developer."""
    if body["messages"][0]["role"] != "user":
        words = "Unsupported value: 'messages[0].role' does not support 'system' with this model."
        return fault(400, words, type="invalid_request_error", param="messages[0].role", code="unsupported_value")
    return gpt5(body)


def vllm(body: Body) -> Answer:
    """With a parser of thoughts; the room of the reply has to fit beside the prompt."""
    room = body.get("max_completion_tokens") or body["max_tokens"]
    if room > CONTEXT - PROMPT:
        words = (
            f"'max_tokens' or 'max_completion_tokens' is too large: {room}. This model's maximum context length is {CONTEXT} "
            f"tokens and your request has {PROMPT} input tokens ({room} > {CONTEXT} - {PROMPT})."
        )
        return Answer(400, {"error": {"message": words, "type": "BadRequestError", "param": "max_tokens", "code": 400}})
    return message(content=JSON, reasoning=THOUGHT)


def vllm_without_parser(body: Body) -> Answer:
    """The template knows no system, and has opened the thought already."""
    if body["messages"][0]["role"] == "system":
        words = "System role not supported"
        return Answer(400, {"error": {"message": words, "type": "BadRequestError", "param": None, "code": 400}})
    return message(content=f"{THOUGHT}\n</think>\n\n```json\n{JSON}\n```")


def llama_cpp(body: Body) -> Answer:
    """As the real server of 2026-10 does with a schema whose grammar is too large."""
    if form(body) == "json_schema":
        words = "Failed to initialize samplers: failed to parse grammar"
        return Answer(400, {"error": {"code": 400, "message": words, "type": "invalid_request_error"}})
    return message(content=JSON, reasoning_content=THOUGHT)


def ollama(body: Body) -> Answer:
    """Reads one name of the limit, and cuts a prompt to its context."""
    assert "max_tokens" in body, "a reply without a limit may have no end"
    tokens = min(len(str(body["messages"])) // 4, CONTEXT // 2)
    answer = message(content=JSON, reasoning=THOUGHT)
    return Answer(body={**dict(answer.body), "usage": {"prompt_tokens": tokens, "completion_tokens": 7}})  # type: ignore[call-overload]


def lm_studio(body: Body) -> Answer:
    """Takes a schema or text alone; the schema is laid on the thought, and the answer stands there."""
    if form(body) == "json_object":
        return Answer(400, {"error": "'response_format.type' must be 'json_schema' or 'text'"})
    return message(content="", reasoning_content=JSON)


def openrouter(body: Body) -> Answer:
    """Where the fields are required of a provider, and none of them has schemas. It counts no tokens."""
    if body.get("provider") == {"require_parameters": True} and form(body) == "json_schema":
        words = (
            "No endpoints found that can handle the requested parameters. To learn more about provider routing, visit: "
            "https://openrouter.ai/docs/guides/routing/provider-selection"
        )
        return Answer(404, {"error": {"message": words, "code": 404}})
    choice = {"message": {"content": JSON, "reasoning": THOUGHT}, "finish_reason": "stop", "native_finish_reason": "STOP"}
    return Answer(body={"choices": [choice], "usage": None})


def gemini(body: Body) -> Answer:
    """A list around its errors; fields of schemas that it does not know are named by a path of its own API."""
    unknown: list[str] = []
    if form(body) == "json_schema":
        unknown.append("Unknown name \"additionalProperties\" at 'generation_config.response_schema': Cannot find field.")
    if "seed" in body:
        unknown.append('Unknown name "seed": Cannot find field.')
    if unknown:
        words = "\n".join(f"Invalid JSON payload received. {each}" for each in unknown)
        violations = [{"description": each} for each in unknown]
        details = [{"@type": "type.googleapis.com/google.rpc.BadRequest", "fieldViolations": violations}]
        return Answer(400, [{"error": {"code": 400, "message": words, "status": "INVALID_ARGUMENT", "details": details}}])
    return message(content=JSON)


def dashscope(body: Body) -> Answer:
    """A model that thinks answers with a stream alone."""
    if not body.get("stream"):
        words = "parameter.enable_thinking must be set to false for non-streaming calls"
        return fault(400, words, code="invalid_parameter_error", type="invalid_request_error")
    deltas: list[Body] = [{"role": "assistant", "content": None, "reasoning_content": THOUGHT}]
    deltas += [{"content": JSON[:5]}, {"content": JSON[5:]}]
    chunks: list[Body] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    chunks.append({"choices": [], "usage": {"prompt_tokens": PROMPT, "completion_tokens": 9}})
    events = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return Answer(body=": keep-alive\n\n" + "".join(events) + "data: [DONE]\n\n")


def mistral(body: Body) -> Answer:
    """Refuses every field that it does not know, all of them at once."""
    unknown = [name for name in ("max_completion_tokens", "seed") if name in body]
    if unknown:
        detail = [
            {"type": "extra_forbidden", "loc": ["body", name], "msg": "Extra inputs are not permitted"} for name in unknown
        ]
        return Answer(422, {"object": "error", "message": {"detail": detail}, "type": "invalid_request_error"})
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": THOUGHT}]}
    return message(content=[thought, {"type": "text", "text": JSON}])


def deepseek(body: Body) -> Answer:
    """Has JSON and no schemas of it."""
    if form(body) == "json_schema":
        return fault(400, "This response_format type is unavailable now", type="invalid_request_error")
    return message(content=JSON, reasoning_content=THOUGHT)
