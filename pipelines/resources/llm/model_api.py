"""A model's API: the three things that differ between providers, and OpenAI's chat completions, which most of them speak."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Protocol, cast

from pydantic import AliasChoices, BaseModel, Field, TypeAdapter, ValidationError

from assets.llm.answer_text import REASONING_FIELDS, content_text, message_text, refusal_text
from assets.llm.ports import FinishReason, ModelReply, ModelRequest
from assets.llm.usage import prompt_tokens
from assets.text.words import count_tokens
from pipelines.agents.native_tools import action_of
from pipelines.resources.llm.compatibility import ApiCompatibility
from pipelines.resources.llm.connection import MOST_BYTES
from pipelines.resources.llm.error_body import is_event_stream
from pipelines.resources.llm.errors import ErrorResponse, NoReply, Unfinished

if TYPE_CHECKING:
    import openai

# Finish reasons of many servers by what they mean. Any other reason is that of a reply which is not finished; a server that
# names none is believed, as several small ones do not.
FINISHES: dict[FinishReason, set[str]] = {
    "stop": {
        "",
        "stop",
        "stop_sequence",
        "stop_token",
        "done",
        "finished",
        "end",
        "end_turn",
        "end_of_turn",
        "end_of_text",
        "eos",
        "eos_token",
        "complete",
        "completed",
        "tool_call",
        "tool_calls",
        "tool_use",
        "function_call",
    },
    "length": {
        "length",
        "max_length",
        "max_tokens",
        "max_output_tokens",
        "model_length",
        "token_limit",
        "context_length_exceeded",
        "model_context_window_exceeded",
    },
    "refusal": {
        "content_filter",
        "content_filtered",
        "guardrail_intervened",
        "safety",
        "recitation",
        "refusal",
        "blocklist",
        "prohibited_content",
        "spii",
        "sensitive",
    },
}


@dataclass(frozen=True)
class ApiCall:
    """One HTTP request: the path below the endpoint's address, the JSON body, and headers beside the bearer token."""

    path: str
    body: dict[str, object]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


class ModelApi(Protocol):
    """Writes a request, reads a reply and reads an error. Everything else is the same for every provider."""

    @property
    def most_bytes(self) -> int:
        """The most bytes that are read of one answer."""
        ...

    def call(self, request: ModelRequest, *, compatibility: ApiCompatibility) -> ApiCall:
        """Return the request as it is sent; `compatibility` is what the model has rejected so far."""
        ...

    def read_reply(self, request: ModelRequest, content: bytes) -> ModelReply | NoReply:
        """Read the body of an answer with status 200."""
        ...

    def read_error(self, error: "openai.APIStatusError") -> ErrorResponse:
        """Read an answer with an error status; codes in the words of OpenAI."""
        ...


class OpenAiChat:
    """Chat completions as OpenAI has them."""

    most_bytes = MOST_BYTES

    def call(self, request: ModelRequest, *, compatibility: ApiCompatibility) -> ApiCall:
        return ApiCall("/chat/completions", compatibility.body(request))

    def read_reply(self, request: ModelRequest, content: bytes) -> ModelReply | NoReply:
        reply = read_reply(content, room=request.max_output_tokens, acts=bool(request.tools))
        return with_tokens(reply, request=request) if isinstance(reply, ModelReply) else reply

    def read_error(self, error: "openai.APIStatusError") -> ErrorResponse:
        return ErrorResponse.read(error)


# The parts of a chat completion that are needed; the rest is not looked at.


class _CompletionChoice(BaseModel):
    message: dict[str, Any] | None = None
    text: str | None = None  # of servers that answer in the form of the older completions
    finish_reason: str | int | None = None
    error: Any = None


class _InputDetails(BaseModel):
    cached_tokens: int | None = None


class _OutputDetails(BaseModel):
    reasoning_tokens: int | None = None


ERROR_EVENT = re.compile(rb'^event: ?error|"error": ?[{"]', re.MULTILINE)
# Fields by which a body without choices is an error.
ERRORS = {"error", "errors", "error_code", "error_msg", "errorMessage", "msg", "detail", "base_resp", "fault"}
MOST_TOKENS = 10**9  # in one call; a usage beyond it is no count, and no database could hold sums of it
Tokens = Annotated[int, Field(ge=0, le=MOST_TOKENS)]


class _CompletionUsage(BaseModel):
    # Some gateways call them as another API of OpenAI's does.
    prompt_tokens: Tokens | None = Field(default=None, validation_alias=AliasChoices("prompt_tokens", "input_tokens"))
    completion_tokens: Tokens | None = Field(default=None, validation_alias=AliasChoices("completion_tokens", "output_tokens"))
    total_tokens: int | None = None
    prompt_tokens_details: _InputDetails | None = None
    completion_tokens_details: _OutputDetails | None = None

    @property
    def output(self) -> int:
        """Tokens of the reply, thoughts included: some providers leave these out of their count, and in the total."""
        written = self.completion_tokens or 0
        thoughts = (self.completion_tokens_details or _OutputDetails()).reasoning_tokens or 0
        if written < thoughts <= MOST_TOKENS:
            written += thoughts
        if self.prompt_tokens:
            written = max(written, self._total - self.prompt_tokens)
        return written

    @property
    def input(self) -> int:
        """Tokens of the prompt, where need be what the total leaves beside the reply's."""
        if self.prompt_tokens is not None:
            return self.prompt_tokens
        return max(0, self._total - self.output)

    @property
    def _total(self) -> int:
        """The sum that the provider gives; 0 for none, and for one that is no count."""
        total = self.total_tokens or 0
        return total if total <= MOST_TOKENS else 0


class _Completion(BaseModel):
    choices: list[_CompletionChoice]
    usage: _CompletionUsage | None = None
    error: Any = None


_BODY: TypeAdapter[Any] = TypeAdapter(Any)

# Of a completion that comes as a stream of events.
CHUNK = re.compile(rb"^data:[ \t]*(\{.*)$", re.MULTILINE)
DONE = re.compile(rb"^data:[ \t]*\[DONE\]", re.MULTILINE)
INTERRUPTED = "interrupted"  # the finish reason of a stream that has no end
TEXT_FIELDS = ("content", "refusal", *REASONING_FIELDS)


class _Function(BaseModel):
    name: str | None = None
    arguments: str | None = None


class _ToolCall(BaseModel):
    index: int = 0
    function: _Function = _Function()


class _Delta(BaseModel, extra="allow"):
    tool_calls: list[_ToolCall] | None = None


class _ChunkChoice(BaseModel):
    delta: _Delta | None = None
    finish_reason: str | int | None = None


class _Chunk(BaseModel):
    choices: list[_ChunkChoice] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


def read_reply(body: bytes, *, room: int = 0, acts: bool = False) -> ModelReply | NoReply:
    """Return the first choice of a chat completion, or the reason why there is none.

    `room`: the tokens that the reply was allowed, for a server that names no finish reason. `acts`: the model was given tools,
    and its reply is an action.
    """
    try:
        if is_event_stream(body):
            completion = _Completion.model_validate(_joined(body))
        else:
            completion = _Completion.model_validate_json(body)
    except ValidationError:
        return no_reply(body, listed="choices")
    if not completion.choices:
        return no_reply(body, listed="choices")
    choice = completion.choices[0]
    if completion.error or choice.error:
        # A server may have written half of the text before it failed.
        return ErrorResponse.of(200, completion.error or choice.error)
    message = {"content": choice.text} if choice.message is None else choice.message
    if choice.message is None and choice.text is None:
        return "unusable"
    usage = completion.usage or _CompletionUsage()
    finish = _finish(choice, tokens=usage.output, room=room)
    refusal = refusal_text(message)
    if finish is None and not refusal:
        return Unfinished(str(choice.finish_reason))
    details = usage.prompt_tokens_details
    action = action_of(message) if acts else None
    return ModelReply(
        text=refusal or action or message_text(message, finished=finish == "stop"),
        finish="refusal" if refusal or finish is None else finish,
        input_tokens=usage.input,
        output_tokens=usage.output,
        cached_input_tokens=min(usage.input, details.cached_tokens or 0) if details else 0,
    )


def _joined(content: bytes) -> dict[str, Any] | None:
    """Return the completion whose chunks stand in a stream; None where there is no chunk, or one that cannot be read."""
    texts = defaultdict[str, str](str)
    arguments = defaultdict[int, str](str)
    names = defaultdict[int, str](str)
    completion: dict[str, Any] = {}
    finish: str | int | None = None
    try:
        chunks = [_Chunk.model_validate_json(line) for line in CHUNK.findall(content)]
    except ValidationError:
        return None
    for chunk in chunks:
        completion["usage"] = chunk.usage or completion.get("usage")
        completion["error"] = chunk.error or completion.get("error")
        for choice in (chunk.choices or [])[:1]:
            finish = choice.finish_reason or finish
            delta = choice.delta or _Delta()
            for name in TEXT_FIELDS:
                texts[name] += content_text((delta.model_extra or {}).get(name))
            for call in delta.tool_calls or []:
                arguments[call.index] += call.function.arguments or ""
                names[call.index] += call.function.name or ""
    if not any(chunk.choices for chunk in chunks):
        return None
    if not finish and not DONE.search(content):
        finish = INTERRUPTED
    calls = [{"function": {"name": names[index], "arguments": each}} for index, each in arguments.items()]
    return {**completion, "choices": [{"message": {**texts, "tool_calls": calls}, "finish_reason": finish}]}


def with_tokens(reply: ModelReply, *, request: ModelRequest) -> ModelReply:
    """Return the reply with estimated tokens where its server counted none, so that the call is not taken for free."""
    read = reply.input_tokens or prompt_tokens((message.content for message in request.messages), schema=request.json_schema)
    return replace(reply, input_tokens=read, output_tokens=reply.output_tokens or count_tokens(reply.text))


def no_reply(body: bytes, *, listed: str) -> NoReply:
    """Return what a body without a readable reply is; `listed`: the field that a reply's parts stand in."""
    try:
        content: object = _BODY.validate_json(body)
    except ValidationError:
        if not is_event_stream(body):
            return "foreign"
        return ErrorResponse.of(200, body.decode(errors="replace")) if ERROR_EVENT.search(body) else "unusable"
    entry = content
    if isinstance(content, list) and content:
        entry = cast(list[object], content)[0]
    if not isinstance(entry, dict):
        return "foreign"
    fields = cast(dict[str, object], entry)
    if fields.get(listed):
        return "unusable"
    if _is_error(fields):
        return ErrorResponse.of(200, cast(object, content))
    return "unusable" if listed in fields else "foreign"


def _is_error(fields: dict[str, object]) -> bool:
    named = "error" in (fields.get("object"), fields.get("type"), fields.get("status"))
    return named or fields.get("success") is False or not fields.keys().isdisjoint(ERRORS)


def _finish(choice: _CompletionChoice, *, tokens: int, room: int) -> FinishReason | None:
    """Return the meaning of the finish reason; None where it is not known, so that the reply may be half of one."""
    reason = str(choice.finish_reason or "").strip().lower()
    if not reason and room and tokens >= room:
        return "length"
    for finish, words in FINISHES.items():
        if reason in words:
            return finish
    return None
