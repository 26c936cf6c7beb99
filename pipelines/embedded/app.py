"""The embedded model as an OpenAI-compatible service: chat completions, embeddings and the list of models.

`writers_of` gives the functions that answer a prompt.
"""

import asyncio
import base64
import hashlib
import json
import secrets
import struct
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from pkgutil import resolve_name
from typing import Any, TypeVar

from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assets.entry_points import EntryPointGroup
from assets.llm.actions import result_message
from assets.llm.native_tools import action_of_call, native_reply
from assets.records.problems import first_problem
from assets.text.words import count_tokens, text_within
from pipelines.benchmarks import BENCHMARKS
from pipelines.embedded.assistant import chat, memory_tasks
from pipelines.embedded.assistant.shaped import shaped_reply
from pipelines.embedded.bank import MODEL_FAMILY, model_name
from pipelines.embedded.reader import DIMENSIONS, embedding
from pipelines.embedded.request_bodies import ChatRequest, EmbeddingRequest, RequestMessage
from pipelines.embedded.task import PLAIN_CHAT, PromptTask, recognise
from prompts.catalogue import FOLDER as PROMPTS
from prompts.catalogue import prompt_names, prompt_path

Writer = Callable[[PromptTask], Any]
ACTED = "evaluation/act"  # how the names of prompts begin that worlds of others answer
# Of worlds of others; each benchmark's own are in its entry.
WORLD_WRITERS = EntryPointGroup[Mapping[str, Writer]]("amemgym.embedded_writers")
# Of prompts that memories and evaluations ask on any benchmark.
SHARED_WRITERS: dict[str, Writer] = {
    "evaluation/follow_up": chat.follow_up,
    "memories/extract_facts": memory_tasks.extract_facts,
    "memories/reconcile_memories": memory_tasks.reconcile,
    "memories/update_notes": memory_tasks.update_notes,
    "paper/update_notes": memory_tasks.update_notes,
    "memories/update_summary": memory_tasks.update_summary,
    "memories/leave_out_forgotten": memory_tasks.leave_out_forgotten,
    "memories/describe_note": memory_tasks.describe_note,
    "memories/link_note": memory_tasks.link_note,
    "memories/find_boundary": memory_tasks.find_boundary,
    "memories/narrate_episode": memory_tasks.narrate_episode,
    "memories/predict_episode": memory_tasks.predict_episode,
    "memories/distill_knowledge": memory_tasks.distill_knowledge,
    "evaluation/check_turn": memory_tasks.check_turn,
    "evaluation/improve_policy": memory_tasks.extend_policy,
    "evaluation/check_memory": memory_tasks.verify_claims,
}
FEWEST_TOKENS = 1024  # a shorter beginning is not cached
TOKENS_AT_A_TIME = 128
CHARACTERS_AT_A_TIME = 64
MOST_BEGINNINGS = 100_000  # remembered, the last ones
Body = TypeVar("Body", ChatRequest, EmbeddingRequest)
Handler = Callable[[Request], Awaitable[Response]]


class PrefixCache:
    """The beginnings of all texts so far, as in the prefix cache of a provider, counted as OpenAI does."""

    def __init__(self) -> None:
        self._known: dict[bytes, None] = {}

    def cached_tokens(self, text: str) -> int:
        """Return the tokens with which an earlier text began in the same way, in whole steps, and remember this one."""
        beginning = hashlib.blake2b(digest_size=16)
        known = 0
        for end in range(CHARACTERS_AT_A_TIME, len(text) + 1, CHARACTERS_AT_A_TIME):
            beginning.update(text[end - CHARACTERS_AT_A_TIME : end].encode())
            # A token has a character at least.
            if end >= FEWEST_TOKENS:
                digest = beginning.digest()
                if digest in self._known:
                    known = end
                self._known[digest] = None
        while len(self._known) > MOST_BEGINNINGS:
            del self._known[next(iter(self._known))]
        tokens = count_tokens(text[:known])
        return 0 if tokens < FEWEST_TOKENS else tokens - tokens % TOKENS_AT_A_TIME


class RequestRejected(Exception):
    """A request that is answered with this status and an error body in OpenAI's form."""

    def __init__(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def embedded_app(*, api_key: str | None = None, latency: float = 0.0) -> Starlette:
    """Return the service. With an `api_key` every request needs it as its bearer token. `latency`: seconds before a reply."""

    def with_errors(handle: Handler) -> Handler:
        async def respond(request: Request) -> Response:
            try:
                _check_key(request, api_key)
                if latency:
                    await asyncio.sleep(latency)
                return await handle(request)
            except RequestRejected as rejection:
                return JSONResponse(rejection.body, status_code=rejection.status)

        return respond

    app = Starlette(
        routes=[
            Route("/v1/chat/completions", with_errors(_chat), methods=["POST"]),
            Route("/v1/embeddings", with_errors(_embed), methods=["POST"]),
            Route("/v1/models", with_errors(_models), methods=["GET"]),
        ]
    )
    app.state.prefixes = PrefixCache()
    return app


@cache
def writers_of(prompt: str) -> Sequence[Writer]:
    """Return the functions that answer a prompt: worlds' first, then benchmarks', then the shared. Imports no others."""
    if prompt not in prompt_names():
        return ()
    owner = prompt_path(prompt).relative_to(PROMPTS).parts[0]
    own: list[Mapping[str, Writer]] = list(WORLD_WRITERS.values()) if prompt.startswith(ACTED) else []
    for name, entry in BENCHMARKS.items():
        if entry.writers and (owner == name or prompt.startswith(entry.shared_prompts)):
            own.append(resolve_name(entry.writers))
    return [writers[prompt] for writers in (*own, SHARED_WRITERS) if prompt in writers]


def write_reply(task: PromptTask) -> str:
    """Return the first reply that is not None; a prompt without one is answered as a plain chat.

    Raises ValueError, KeyError, TypeError or AttributeError when the messages lack the data that belongs to the prompt.
    """
    replies = (write(task) for write in writers_of(task.name))
    reply = next((reply for reply in replies if reply is not None), None)
    if reply is None:
        return chat.reply(task)
    if isinstance(reply, str):
        return reply
    return json.dumps(reply, ensure_ascii=False, separators=(",", ":"))


def _check_key(request: Request, api_key: str | None) -> None:
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    # Compared in constant time: how long a refusal takes must not say how much of a key is right.
    if api_key is not None and not secrets.compare_digest(given.encode(), api_key.encode()):
        raise RequestRejected(401, "The API key is missing or wrong.", code="invalid_api_key")


async def _parse_body(request: Request, kind: type[Body]) -> Body:
    try:
        body = kind.model_validate_json(await request.body())
    except ValidationError as error:
        param, problem = first_problem(error, whole="")
        raise RequestRejected(400, f"{param or 'The body'} {problem}.", param=param or None) from error
    if not body.model.startswith(MODEL_FAMILY):
        message = f"The model {body.model!r} does not exist; this service is {model_name()!r}."
        raise RequestRejected(404, message, code="model_not_found", param="model")
    return body


async def _chat(request: Request) -> Response:
    body = await _parse_body(request, ChatRequest)
    task = _task_of(body)
    try:
        shape = body.shape if task.name == PLAIN_CHAT else None
        text = write_reply(task) if shape is None else json.dumps(shaped_reply(task, shape), ensure_ascii=False)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # The messages lack data that belongs to the prompt of this name, or hold it in another shape.
        raise RequestRejected(400, f"The messages do not fit the task {task.name!r}: {error}.", param="messages") from error
    limit = body.max_completion_tokens or body.max_tokens
    sent = text
    if limit is not None:
        sent = text_within(text, limit)
    prefixes: PrefixCache = request.app.state.prefixes
    cached = prefixes.cached_tokens(body.in_one_text)
    completion = _completion(task, sent, truncated=sent != text, prompt_tokens=body.prompt_tokens, cached_tokens=cached)
    if body.tools:
        completion["choices"][0]["message"] |= native_reply(sent)
    return JSONResponse(completion)


def _task_of(body: ChatRequest) -> PromptTask:
    """Return what is asked. Of a request with tools that is an action; calls and results are read as typed ones are."""
    messages = list(map(RequestMessage.as_text, body.messages))
    if not body.tools:
        return recognise(messages, schema_name=body.schema_name, seed=body.seed or 0)
    named: dict[str, str] = {}
    for message, given in zip(messages, body.messages, strict=True):
        for call in given.tool_calls or ():
            named[call.id] = call.function.name
            message["content"] = action_of_call(call.function.model_dump())
        if given.role == "tool":
            message |= {"role": "user", "content": result_message(named.get(given.tool_call_id or "", ""), message["content"])}
    messages.append({"role": "developer", "content": json.dumps(body.tools)})
    return recognise(messages, schema_name="evaluation_act", seed=body.seed or 0)


def _completion(task: PromptTask, text: str, *, truncated: bool, prompt_tokens: int, cached_tokens: int) -> dict[str, Any]:
    completion_tokens = count_tokens(text)
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
                "finish_reason": "length" if truncated else "stop",
            }
        ],
        "usage": {
            "prompt_tokens": prompt_tokens,
            "completion_tokens": completion_tokens,
            "total_tokens": prompt_tokens + completion_tokens,
            "prompt_tokens_details": {"cached_tokens": min(cached_tokens, prompt_tokens)},
        },
        "system_fingerprint": model_name(),
    }


async def _embed(request: Request) -> Response:
    body = await _parse_body(request, EmbeddingRequest)
    texts = [body.input] if isinstance(body.input, str) else body.input
    tokens = sum(map(count_tokens, texts))
    data: list[dict[str, Any]] = []
    for index, text in enumerate(texts):
        vector = _encode_embedding(text, as_base64=body.encoding_format == "base64")
        data.append({"object": "embedding", "index": index, "embedding": vector})
    return JSONResponse(
        {
            "object": "list",
            "data": data,
            "model": model_name(),
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
    )


def _encode_embedding(text: str, *, as_base64: bool) -> list[float] | str:
    """Return the vector as the OpenAI API sends it: numbers, or little-endian 32-bit floats in base64."""
    vector = embedding(text)
    if not as_base64:
        return vector
    return base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *vector)).decode()


async def _models(_: Request) -> Response:
    model = {"id": model_name(), "object": "model", "created": 0, "owned_by": MODEL_FAMILY}
    return JSONResponse({"object": "list", "data": [model]})
