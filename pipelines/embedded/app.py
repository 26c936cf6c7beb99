"""The embedded model as an OpenAI-compatible service: chat completions, embeddings and the list of models.

`WRITERS` lists the function that answers each prompt.
"""

import asyncio
import base64
import json
import secrets
import struct
from collections.abc import Awaitable, Callable
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from pipelines.embedded.amemgym import (
    answers,
    events,
    judges,
    questions,
    session_queries,
    state_schema,
    state_trajectory,
    user_profiles,
)
from pipelines.embedded.assistant import chat, memory_tasks
from pipelines.embedded.bank import MODEL_FAMILY, model_name
from pipelines.embedded.code_qa import telling as notes
from pipelines.embedded.deep_research import manuals, telling
from pipelines.embedded.memory_items import questions as memory_questions
from pipelines.embedded.reader import DIMENSIONS, embedding
from pipelines.embedded.task import PromptTask, recognise

CHARACTERS_PER_TOKEN = 4  # for the token counts in replies
WRITERS: dict[str, Callable[[PromptTask], Any]] = {
    "user_profiles/complete": user_profiles.complete,
    "questions/draft": questions.draft,
    "state_schema/refine": state_schema.refine,
    "state_schema/unify": state_schema.unify,
    "state_schema/check": judges.check_schema,
    "state_trajectory/initial": state_trajectory.initial,
    "state_trajectory/update": state_trajectory.update,
    "state_trajectory/check": judges.check_story,
    "state_trajectory/retell": state_trajectory.retell,
    "events/elaborate": events.elaborate,
    "events/refine": events.refine,
    "session_queries/initial": session_queries.initial,
    "session_queries/update": session_queries.update,
    "session_queries/refine": session_queries.refine,
    "session_queries/check_exposure": judges.check_exposure,
    "answers/draft": answers.draft,
    "answers/refine": answers.refine,
    "answers/check": judges.check_answers,
    "answers/choose": judges.choose_answers,
    "audits/options_only": judges.guess_blindly,
    "audits/question_only": judges.guess_blindly,
    "audits/profile_only": judges.guess_from_profile,
    "evaluation/follow_up": chat.follow_up,
    "memories/extract_facts": memory_tasks.extract_facts,
    "memories/reconcile_memories": memory_tasks.reconcile,
    "memories/update_notes": memory_tasks.update_notes,
    "paper/update_notes": memory_tasks.update_notes,
    "memories/update_summary": memory_tasks.update_summary,
    "memories/describe_note": memory_tasks.describe_note,
    "memories/link_note": memory_tasks.link_note,
    "memories/find_boundary": memory_tasks.find_boundary,
    "memories/narrate_episode": memory_tasks.narrate_episode,
    "memories/predict_episode": memory_tasks.predict_episode,
    "memories/distill_knowledge": memory_tasks.distill_knowledge,
    "evaluation/check_turn": memory_tasks.check_turn,
    "evaluation/improve_policy": memory_tasks.improve_policy,
    "evaluation/check_memory": memory_tasks.check_memory,
    "dr_sources/tell": telling.tell,
    "dr_sources/phrase": telling.phrase,
    "dr_facts/extract": manuals.extract,
    "dr_questions/word": memory_questions.word_research,
    "dr_questions/check": memory_questions.check,
    "code_documents/tell": notes.tell,
    "code_documents/phrase": notes.phrase,
    "code_documents/recover": notes.recover,
    "code_questions/word": memory_questions.word_about_code,
    "code_questions/check": memory_questions.check,
    "memory_items/answer": memory_questions.answer,
    "memory_items/ask": memory_questions.answer_from_memory,
    "annotation/rate_exposure": judges.rate_exposure,
    "annotation/rate_integrity": judges.rate_integrity,
    "annotation/choose_truth": judges.choose_truth,
}


class ContentPart(BaseModel):
    """A part of a message; parts other than text are refused."""

    type: Literal["text"]
    text: str


class RequestMessage(BaseModel):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[ContentPart] | None = None

    def as_text(self) -> dict[str, str]:
        """The message with its text parts joined."""
        content = self.content or ""
        return {"role": self.role, "content": content if isinstance(content, str) else "".join(p.text for p in content)}


class ReplyFormatSchema(BaseModel):
    """The JSON schema of a reply format; the model reads its name alone."""

    name: str


class ReplyFormat(BaseModel):
    type: Literal["text", "json_object", "json_schema"]
    json_schema: ReplyFormatSchema | None = None


class ChatRequest(BaseModel):
    """The body of a chat completion request. Parameters that change nothing here are accepted and ignored."""

    model: str
    messages: list[RequestMessage] = Field(min_length=1)
    response_format: ReplyFormat | None = None
    seed: int | None = None
    n: Literal[1] | None = 1
    stream: Literal[False] | None = False
    max_tokens: int | None = Field(default=None, ge=1)
    max_completion_tokens: int | None = Field(default=None, ge=1)


class EmbeddingRequest(BaseModel):
    model: str
    input: str | list[str] = Field(min_length=1)
    encoding_format: Literal["float", "base64"] | None = "float"


Body = TypeVar("Body", ChatRequest, EmbeddingRequest)
Handler = Callable[[Request], Awaitable[Response]]


class RequestRejected(Exception):
    """A request that is answered with this status and an error body in OpenAI's form."""

    def __init__(self, status: int, message: str, *, code: str | None = None, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.body = {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def create_app(*, api_key: str | None = None, latency: float = 0.0) -> Starlette:
    """The service. With an `api_key` every request needs it as its bearer token. `latency`: seconds before each reply."""

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

    return Starlette(
        routes=[
            Route("/v1/chat/completions", with_errors(_chat), methods=["POST"]),
            Route("/v1/embeddings", with_errors(_embed), methods=["POST"]),
            Route("/v1/models", with_errors(_models), methods=["GET"]),
        ]
    )


def answer(task: PromptTask) -> str:
    """The reply's text; a prompt without a writer is answered as a plain chat.

    Raises ValueError, KeyError, TypeError or AttributeError when the messages lack the data that belongs to the prompt.
    """
    reply = WRITERS.get(task.name, chat.reply)(task)
    return reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False, separators=(",", ":"))


def _check_key(request: Request, api_key: str | None) -> None:
    given = request.headers.get("authorization", "").removeprefix("Bearer ")
    if api_key is not None and not secrets.compare_digest(given.encode(), api_key.encode()):
        raise RequestRejected(401, "The API key is missing or wrong.", code="invalid_api_key")


async def _parse_body(request: Request, kind: type[Body]) -> Body:
    try:
        body = kind.model_validate_json(await request.body())
    except ValidationError as error:
        problem = error.errors()[0]
        param = ".".join(str(part) for part in problem["loc"])
        raise RequestRejected(400, f"{param or 'The body'}: {problem['msg']}.", param=param or None) from error
    if not body.model.startswith(MODEL_FAMILY):
        message = f"The model {body.model!r} does not exist; this service is {model_name()!r}."
        raise RequestRejected(404, message, code="model_not_found", param="model")
    return body


async def _chat(request: Request) -> Response:
    body = await _parse_body(request, ChatRequest)
    messages = [message.as_text() for message in body.messages]
    schema = body.response_format.json_schema if body.response_format else None
    task = recognise(messages, schema_name=schema.name if schema else None, seed=body.seed or 0)
    try:
        text = answer(task)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        # The messages lack data that belongs to the prompt of this name, or hold it in another shape.
        raise RequestRejected(400, f"The messages do not fit the task {task.name!r}: {error}.", param="messages") from error
    limit = body.max_completion_tokens or body.max_tokens
    length = len(text) if limit is None else limit * CHARACTERS_PER_TOKEN
    return JSONResponse(_completion(task, text[:length], truncated=len(text) > length))


def _completion(task: PromptTask, text: str, *, truncated: bool) -> dict[str, Any]:
    prompt_tokens = sum(_count_tokens(turn.content) for turn in task.turns)
    completion_tokens = _count_tokens(text)
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
        },
        "system_fingerprint": model_name(),
    }


def _count_tokens(text: str) -> int:
    return -(-len(text) // CHARACTERS_PER_TOKEN)


async def _embed(request: Request) -> Response:
    body = await _parse_body(request, EmbeddingRequest)
    texts = [body.input] if isinstance(body.input, str) else body.input
    prompt_tokens = sum(map(_count_tokens, texts))
    data = [
        {
            "object": "embedding",
            "index": index,
            "embedding": _encode_embedding(text, as_base64=body.encoding_format == "base64"),
        }
        for index, text in enumerate(texts)
    ]
    return JSONResponse(
        {
            "object": "list",
            "data": data,
            "model": model_name(),
            "usage": {"prompt_tokens": prompt_tokens, "total_tokens": prompt_tokens},
        }
    )


def _encode_embedding(text: str, *, as_base64: bool) -> list[float] | str:
    """The vector as the OpenAI API sends it: numbers, or little-endian 32-bit floats in base64."""
    vector = embedding(text)
    return base64.b64encode(struct.pack(f"<{DIMENSIONS}f", *vector)).decode() if as_base64 else vector


async def _models(_: Request) -> Response:
    model = {"id": model_name(), "object": "model", "created": 0, "owned_by": MODEL_FAMILY}
    return JSONResponse({"object": "list", "data": [model]})
