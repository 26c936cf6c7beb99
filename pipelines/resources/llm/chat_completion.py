"""A chat completion as servers write it, whole or as a stream of events: read as a reply, or as what came instead of one."""

import re
from collections import defaultdict
from dataclasses import replace
from typing import Annotated, Any, cast

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError

from assets.llm.answer_text import REASONING_FIELDS, content_text, message_text, refusal_text
from assets.llm.native_tools import action_of
from assets.llm.ports import FinishReason, ModelReply, ModelRequest
from assets.llm.usage import request_tokens
from assets.text.words import count_tokens
from pipelines.resources.llm.error_body import is_event_stream
from pipelines.resources.llm.errors import ErrorResponse, NoReply, Unfinished

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
MOST_TOKENS = 10**9  # in one call; a usage beyond it is no count, and no database could hold sums of it
# No tokenizer makes more tokens of a prompt than it has bytes, but a server may put words of its own and tools before it.
MOST_HIDDEN = 100_000
TIMES_THE_ROOM = 4  # some servers count thoughts beyond the room that a reply was given
ERROR_EVENT = re.compile(rb'^event: ?error|"error": ?[{"]', re.MULTILINE)
# Fields by which a body without choices is an error.
ERRORS = {"error", "errors", "error_code", "error_msg", "errorMessage", "msg", "detail", "base_resp", "fault"}
# Of a completion that comes as a stream of events.
CHUNK = re.compile(rb"^data:[ \t]*(\{.*)$", re.MULTILINE)
DONE = re.compile(rb"^data:[ \t]*\[DONE\]", re.MULTILINE)
INTERRUPTED = "interrupted"  # the finish reason of a stream that has no end
TEXT_FIELDS = ("content", "refusal", *REASONING_FIELDS)
_BODY: TypeAdapter[Any] = TypeAdapter(Any)


# The parts that are needed; the rest is not looked at.


class CompletionChoice(BaseModel):
    message: dict[str, Any] | None = None
    text: str | None = None  # of servers that answer in the form of the older completions
    finish_reason: str | int | None = None
    index: int | None = None
    error: Any = None


def _known_count(value: object) -> int | None:
    """Return a number of tokens; None for what is none, so that a wrong usage does not spoil a good reply."""
    return int(value) if isinstance(value, int | float) and 0 <= value <= MOST_TOKENS else None


def _fields_or_none(value: object) -> object:
    return cast(object, value) if isinstance(value, dict) else None


Tokens = Annotated[int | None, BeforeValidator(_known_count)]
IfFields = BeforeValidator(_fields_or_none)


class InputDetails(BaseModel):
    cached_tokens: Tokens = None


class OutputDetails(BaseModel):
    reasoning_tokens: Tokens = None


class CompletionUsage(BaseModel):
    # Some gateways call them as another API of OpenAI's does.
    prompt_tokens: Tokens = Field(default=None, validation_alias=AliasChoices("prompt_tokens", "input_tokens"))
    completion_tokens: Tokens = Field(default=None, validation_alias=AliasChoices("completion_tokens", "output_tokens"))
    total_tokens: Tokens = None
    prompt_tokens_details: Annotated[InputDetails | None, IfFields] = None
    completion_tokens_details: Annotated[OutputDetails | None, IfFields] = None

    @property
    def output(self) -> int:
        """Tokens of the reply, thoughts included: some providers leave these out of their count, and in the total."""
        written = self.completion_tokens or 0
        thoughts = (self.completion_tokens_details or OutputDetails()).reasoning_tokens or 0
        if written < thoughts:
            written += thoughts
        if self.prompt_tokens:
            written = max(written, (self.total_tokens or 0) - self.prompt_tokens)
        return written

    @property
    def input(self) -> int:
        """Tokens of the prompt, where need be what the total leaves beside the reply's."""
        if self.prompt_tokens is not None:
            return self.prompt_tokens
        return max(0, (self.total_tokens or 0) - self.output)


class Completion(BaseModel):
    choices: list[CompletionChoice]
    usage: Annotated[CompletionUsage | None, IfFields] = None
    id: Any = None
    model: Any = None
    error: Any = None


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
    id: Any = None
    model: Any = None
    error: Any = None


def read_reply(body: bytes, *, room: int = 0, acts: bool = False) -> ModelReply | NoReply:
    """Return the first choice of a chat completion, or the reason why there is none.

    `room`: the tokens that the reply was allowed, for a server that names no finish reason. `acts`: the model was given tools,
    and its reply is an action.
    """
    completion = read_completion(body)
    return reply_of(completion, room=room, acts=acts) if isinstance(completion, Completion) else completion


def read_completion(body: bytes) -> Completion | NoReply:
    try:
        if is_event_stream(body):
            completion = Completion.model_validate(_join_chunks(body))
        else:
            completion = Completion.model_validate_json(body)
    except ValidationError:
        return no_reply(body, listed="choices")
    return completion if completion.choices else no_reply(body, listed="choices")


def reply_of(completion: Completion, *, room: int, acts: bool) -> ModelReply | NoReply:
    first = [choice for choice in completion.choices if not choice.index] or completion.choices
    if any(choice != first[0] for choice in first):
        return "unusable"  # nobody can tell which of them is meant
    choice = first[0]
    if completion.error or choice.error:
        # A server may have written half of the text before it failed.
        return ErrorResponse.of(200, completion.error or choice.error)
    message = {"content": choice.text} if choice.message is None else choice.message
    if choice.message is None and choice.text is None:
        return "unusable"
    usage = completion.usage or CompletionUsage()
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


def _join_chunks(content: bytes) -> dict[str, Any] | None:
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
        for name in ("usage", "id", "model", "error"):
            completion[name] = getattr(chunk, name) or completion.get(name)
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
    """Return the reply with estimated tokens where its server counted none, or more than there can be."""
    written = reply.output_tokens
    if not 0 < written <= max(len(reply.text.encode()), TIMES_THE_ROOM * request.max_output_tokens):
        written = count_tokens(reply.text)
    return replace(reply, input_tokens=read_tokens(reply.input_tokens, request=request), output_tokens=written)


def read_tokens(counted: int, *, request: ModelRequest) -> int:
    """Return the tokens of a prompt as its server counted them; our estimate for none, and for more than there can be."""
    letters = sum(len(message.content.encode()) for message in request.messages)
    return counted if 0 < counted <= letters + MOST_HIDDEN else request_tokens(request)


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


def _finish(choice: CompletionChoice, *, tokens: int, room: int) -> FinishReason | None:
    """Return the meaning of the finish reason; None where it is not known, so that the reply may be half of one."""
    reason = str(choice.finish_reason or "").strip().lower()
    if not reason and room and tokens >= room:
        return "length"
    for finish, words in FINISHES.items():
        if reason in words:
            return finish
    return None
