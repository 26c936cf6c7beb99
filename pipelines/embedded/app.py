"""The embedded model as an OpenAI-compatible service: chat completions, embeddings and the list of models."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pipelines.embedded.bank import MODEL_FAMILY, model_name
from pipelines.embedded.bodies import ChatRequest, EmbeddingRequest
from pipelines.embedded.embeddings import encoded
from pipelines.embedded.program import answer
from pipelines.embedded.task import Task, recognise

CHARACTERS_PER_TOKEN = 4
Body = TypeVar("Body", ChatRequest, EmbeddingRequest)
Handler = Callable[[Request], Awaitable[Response]]


class Refused(Exception):
    """A request that gets an error body."""

    def __init__(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def create_app(*, api_key: str | None = None, latency: float = 0.0) -> Starlette:
    """The service. With an `api_key` every request needs it as its bearer token. `latency`: seconds before each answer."""

    def guarded(handle: Handler) -> Handler:
        async def handled(request: Request) -> Response:
            try:
                _check_key(request, api_key)
                if latency:
                    await asyncio.sleep(latency)
                return await handle(request)
            except Refused as refused:
                return JSONResponse(refused.body, status_code=refused.status)

        return handled

    return Starlette(
        routes=[
            Route("/v1/chat/completions", guarded(_chat), methods=["POST"]),
            Route("/v1/embeddings", guarded(_embed), methods=["POST"]),
            Route("/v1/models", guarded(_models), methods=["GET"]),
        ]
    )


def _check_key(request: Request, api_key: str | None) -> None:
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    if api_key is not None and not secrets.compare_digest(given.encode(), api_key.encode()):
        raise Refused(401, "The API key is missing or wrong.", code="invalid_api_key")


async def _body(request: Request, kind: type[Body]) -> Body:
    try:
        body = kind.model_validate_json(await request.body())
    except ValidationError as error:
        problem = error.errors()[0]
        param = ".".join(str(part) for part in problem["loc"])
        raise Refused(400, f"{param or 'The body'}: {problem['msg']}.", param=param or None) from error
    if not body.model.startswith(MODEL_FAMILY):
        message = f"The model {body.model!r} does not exist; this service is {model_name()!r}."
        raise Refused(404, message, code="model_not_found", param="model")
    return body


async def _chat(request: Request) -> Response:
    body = await _body(request, ChatRequest)
    messages = [message.plain() for message in body.messages]
    wanted = body.response_format.json_schema if body.response_format else None
    task = recognise(messages, schema_name=wanted.name if wanted else None, seed=body.seed or 0)
    try:
        text = answer(task)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # The prompt's name promises data that its messages do not hold, or hold in another shape.
        raise Refused(400, f"The messages do not fit the task {task.name!r}: {error}.", param="messages") from error
    limit = body.max_completion_tokens or body.max_tokens
    room = len(text) if limit is None else limit * CHARACTERS_PER_TOKEN
    return JSONResponse(_completion(task, text[:room], cut=len(text) > room))


def _completion(task: Task, text: str, *, cut: bool) -> dict[str, Any]:
    sent = sum(_tokens(turn.content) for turn in task.turns)
    return {
        "id": f"chatcmpl-{task.identity[:24]}",
        "object": "chat.completion",
        "created": 0,  # no clock: the same request gets the same bytes
        "model": model_name(),
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": text, "refusal": None},
                "logprobs": None,
                "finish_reason": "length" if cut else "stop",
            }
        ],
        "usage": {"prompt_tokens": sent, "completion_tokens": _tokens(text), "total_tokens": sent + _tokens(text)},
        "system_fingerprint": model_name(),
    }


def _tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


async def _embed(request: Request) -> Response:
    body = await _body(request, EmbeddingRequest)
    texts = [body.input] if isinstance(body.input, str) else body.input
    used = sum(map(_tokens, texts))
    data = [
        {"object": "embedding", "index": index, "embedding": encoded(text, as_base64=body.encoding_format == "base64")}
        for index, text in enumerate(texts)
    ]
    return JSONResponse(
        {"object": "list", "data": data, "model": model_name(), "usage": {"prompt_tokens": used, "total_tokens": used}}
    )


async def _models(_: Request) -> Response:
    model = {"id": model_name(), "object": "model", "created": 0, "owned_by": MODEL_FAMILY}
    return JSONResponse({"object": "list", "data": [model]})
