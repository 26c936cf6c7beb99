"""A model's API: the three things that differ between providers, and OpenAI's chat completions, which most of them speak."""

import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated, Any, Protocol, cast

from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError

from assets.llm.answer_text import REASONING_FIELDS, content_text, message_text, refusal_text
from assets.llm.native_tools import action_of
from assets.llm.ports import FinishReason, ModelReply, ModelRequest
from assets.llm.usage import request_tokens
from assets.text.words import count_tokens
from pipelines.resources.llm.compatibility import ApiCompatibility
from pipelines.resources.llm.connection import MOST_BYTES
from pipelines.resources.llm.error_body import is_event_stream
from pipelines.resources.llm.errors import ErrorResponse, Misplaced, NoReply, Unfinished

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


class ReplyOrigins:
    """What replies say of their origin: to which request they are, by their id, and which model wrote them.

    Some endpoints always give a name of their own, as of a deployment's model. It counts after `ENOUGH_NAMES` replies, none of
    which bore the asked name: alone where all of these bore it, else like any other, as of a router.
    """

    def __init__(self) -> None:
        self._requests: dict[str, int] = {}
        self._counting: dict[str, set[str]] = {}  # names that count beside the asked one; none once a reply has borne that
        self._doubtful: defaultdict[str, list[str]] = defaultdict(list)

    def find_misplaced(self, request: ModelRequest, *, reply_id: object, model: object) -> Misplaced | None:
        """Return what is wrong with a reply of this id and model; None where nothing is, or nothing can be told."""
        if isinstance(reply_id, str) and len(reply_id) >= UNIQUE_ID:
            asked = hash((request.model, request.messages))
            if self._requests.setdefault(reply_id, asked) != asked:
                return Misplaced("with the reply to another request")
        return None if FALLBACKS in request.extra_body else self.find_other_model(request.model, model)

    def find_other_model(self, asked: str, named: object) -> Misplaced | None:
        """Return what is wrong with a reply that bears this name; None where it is the asked model's, or bears none."""
        if not isinstance(named, str) or not named:
            return None
        if _is_same_model(asked, named):
            self._counting[asked] = set()
            return None
        problem = f"with the model {named!r} in the place of {asked!r}"
        if asked not in self._counting:
            self._doubtful[asked].append(named)
            if len(self._doubtful[asked]) < ENOUGH_NAMES:
                return Misplaced(problem, doubtful=True)
            self._counting[asked] = set(self._doubtful[asked])
        counting = self._counting[asked]
        return None if named in counting or len(counting) > 1 else Misplaced(problem)


def _is_same_model(asked: str, named: str) -> bool:
    """Return True where one name is the other with a maker before it or a version behind it; a size makes another model."""
    asked, named = (name.lower().rpartition("/")[2].removesuffix(":latest").removesuffix("-latest") for name in (asked, named))
    return asked == named or VERSION.sub("", asked) == named or VERSION.sub("", named) == asked


class OpenAiChat:
    """Chat completions as OpenAI has them."""

    most_bytes = MOST_BYTES

    def __init__(self, origins: ReplyOrigins | None = None) -> None:
        self._origins = origins or ReplyOrigins()

    def call(self, request: ModelRequest, *, compatibility: ApiCompatibility) -> ApiCall:
        return ApiCall("/chat/completions", compatibility.body(request))

    def read_reply(self, request: ModelRequest, content: bytes) -> ModelReply | NoReply:
        completion = _read_completion(content)
        if not isinstance(completion, _Completion):
            return completion
        misplaced = self._origins.find_misplaced(request, reply_id=completion.id, model=completion.model)
        reply = misplaced or _reply_of(completion, room=request.max_output_tokens, acts=bool(request.tools))
        return with_tokens(reply, request=request) if isinstance(reply, ModelReply) else reply

    def read_error(self, error: "openai.APIStatusError") -> ErrorResponse:
        return ErrorResponse.read(error)


# The parts of a chat completion that are needed; the rest is not looked at.


class _CompletionChoice(BaseModel):
    message: dict[str, Any] | None = None
    text: str | None = None  # of servers that answer in the form of the older completions
    finish_reason: str | int | None = None
    index: int | None = None
    error: Any = None


MOST_TOKENS = 10**9  # in one call; a usage beyond it is no count, and no database could hold sums of it
# No tokenizer makes more tokens of a prompt than it has bytes, but a server may put words of its own and tools before it.
MOST_HIDDEN = 100_000
TIMES_THE_ROOM = 4  # some servers count thoughts beyond the room that a reply was given


def _known_count(value: object) -> int | None:
    """Return a number of tokens; None for what is none, so that a wrong usage does not spoil a good reply."""
    return int(value) if isinstance(value, int | float) and 0 <= value <= MOST_TOKENS else None


def _fields_or_none(value: object) -> object:
    return cast(object, value) if isinstance(value, dict) else None


Tokens = Annotated[int | None, BeforeValidator(_known_count)]
IfFields = BeforeValidator(_fields_or_none)


class _InputDetails(BaseModel):
    cached_tokens: Tokens = None


class _OutputDetails(BaseModel):
    reasoning_tokens: Tokens = None


UNIQUE_ID = 24  # letters of an id that no other reply has; shorter ones are counted, or drawn from a few
FALLBACKS = "models"  # the field by which some gateways are told of further models
# If half of the replies were another model's, one of 256 endpoints would show that name alone. Each costs one more reply.
ENOUGH_NAMES = 8
VERSION = re.compile(r"(?:[-@:._](?:v?\d{2,8}|v\d|preview|exp|free|fp8|fp16|bf16|awq|gptq|q\d\w*))+$")
ERROR_EVENT = re.compile(rb'^event: ?error|"error": ?[{"]', re.MULTILINE)
# Fields by which a body without choices is an error.
ERRORS = {"error", "errors", "error_code", "error_msg", "errorMessage", "msg", "detail", "base_resp", "fault"}


class _CompletionUsage(BaseModel):
    # Some gateways call them as another API of OpenAI's does.
    prompt_tokens: Tokens = Field(default=None, validation_alias=AliasChoices("prompt_tokens", "input_tokens"))
    completion_tokens: Tokens = Field(default=None, validation_alias=AliasChoices("completion_tokens", "output_tokens"))
    total_tokens: Tokens = None
    prompt_tokens_details: Annotated[_InputDetails | None, IfFields] = None
    completion_tokens_details: Annotated[_OutputDetails | None, IfFields] = None

    @property
    def output(self) -> int:
        """Tokens of the reply, thoughts included: some providers leave these out of their count, and in the total."""
        written = self.completion_tokens or 0
        thoughts = (self.completion_tokens_details or _OutputDetails()).reasoning_tokens or 0
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


class _Completion(BaseModel):
    choices: list[_CompletionChoice]
    usage: Annotated[_CompletionUsage | None, IfFields] = None
    id: Any = None
    model: Any = None
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
    id: Any = None
    model: Any = None
    error: Any = None


def read_reply(body: bytes, *, room: int = 0, acts: bool = False) -> ModelReply | NoReply:
    """Return the first choice of a chat completion, or the reason why there is none.

    `room`: the tokens that the reply was allowed, for a server that names no finish reason. `acts`: the model was given tools,
    and its reply is an action.
    """
    completion = _read_completion(body)
    return _reply_of(completion, room=room, acts=acts) if isinstance(completion, _Completion) else completion


def _read_completion(body: bytes) -> _Completion | NoReply:
    try:
        if is_event_stream(body):
            completion = _Completion.model_validate(_join_chunks(body))
        else:
            completion = _Completion.model_validate_json(body)
    except ValidationError:
        return no_reply(body, listed="choices")
    return completion if completion.choices else no_reply(body, listed="choices")


def _reply_of(completion: _Completion, *, room: int, acts: bool) -> ModelReply | NoReply:
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


def _finish(choice: _CompletionChoice, *, tokens: int, room: int) -> FinishReason | None:
    """Return the meaning of the finish reason; None where it is not known, so that the reply may be half of one."""
    reason = str(choice.finish_reason or "").strip().lower()
    if not reason and room and tokens >= room:
        return "length"
    for finish, words in FINISHES.items():
        if reason in words:
            return finish
    return None
