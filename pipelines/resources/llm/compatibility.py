"""The parameters that an endpoint takes: assumed to be all of the chat API, then learned from the requests it rejects."""

import json
import logging
import re
from dataclasses import dataclass, field, replace
from typing import Literal, cast

from assets.llm.native_tools import native_messages, native_tools
from assets.llm.ports import ModelReply, ModelRequest
from pipelines.resources.llm.limits.reply_room import ReplyRoom, RoomLimit, sign_of_short_context
from prompts.template import Message

Structure = Literal["strict", "schema", "object", "text"]
LimitName = Literal["max_completion_tokens", "max_tokens"]
# OpenAI and Azure take the first one from all models, and the second one from models that do not reason. Of everybody else's
# servers, several ignore the first one without a word (Ollama does), so that a reply would have no end.
OPENAI_LIMITS: tuple[LimitName, ...] = ("max_completion_tokens", "max_tokens")
OTHER_LIMITS: tuple[LimitName, ...] = ("max_tokens", "max_completion_tokens")
OPENAI_HOST = re.compile(r"^https?://(?:[^/@]*\.)?(?:openai|azure)\.com(?=[:/]|$)", re.IGNORECASE)

SCHEMA_INSTRUCTION = "\n\nAnswer with one JSON object alone. It must fit this JSON schema:\n"
NAMES_STRUCTURE = re.compile(
    r"response_?format|json_?schema|json_?object|structured.output|guided|grammar|(?<![a-z])schema\b"
    r"|requested parameters|contains an invalid argument",  # OpenRouter's and Gemini's words for it
    re.IGNORECASE,
)
# Words that say for sure that a parameter is what an endpoint does not take; others may be of this one request.
SAYS_UNKNOWN = re.compile(
    r"not? (?:\w+ )?support|n't (?:\w+ )?support|unsupported|un?available|not available|unknown|unrecogni[sz]ed|unexpected"
    r"|not (?:permitted|allowed|implemented)|extra (?:inputs|fields)|deprecated",
    re.IGNORECASE,
)
NAMES_SYSTEM = re.compile(r"system.{0,3} (?:role|message|prompt|instruction)|\brole\b.{0,30}\bsystem\b", re.IGNORECASE)
# Of a model that thinks so long that its server hands out nothing but streams.
NAMES_STREAM = re.compile(
    r"only supports? (?:\w+ )?stream|non-?stream|\bstream\w*\W{1,3}(?:false|true)\b|\bstream\w*\W+(?:is required|must be)",
    re.IGNORECASE,
)
WORDS_OF_FIELDS = {
    "temperature": "temperature",
    "seed": "seed",
    "cache_key": "prompt_cache_key",
    "system": "messages of the system",
    "stream": "a stream of events",
    "encoding_format": "encoding_format",
}
WORDS_OF_STRUCTURE = {
    "strict": "strict JSON schemas",
    "schema": "JSON schemas that are not strict",
    "object": "JSON objects, with the schema in words",
    "text": "text, with the schema in words",
}
LOG = logging.getLogger(__name__)
ALL_ROOM = ReplyRoom()
NEVER_STRICT = {"patternProperties", "prefixItems", "oneOf", "allOf", "not"}
LARGEST_SEED = 2**31


@dataclass(frozen=True)
class Rejection:
    """An endpoint's reason to reject a request: its words, the parameter it named, if any, and its limit of a reply's room.

    `unexplained`: its words may mean any optional part of the request.
    """

    text: str = ""
    param: str = ""
    room: RoomLimit | None = None
    unexplained: bool = False


@dataclass(frozen=True)
class ApiCompatibility:
    """The parameters of a call that one model at one endpoint accepts. `encoding_format` is one of embeddings.

    `limit_names`: names of the limit of a reply's tokens that were not rejected yet; the first one is sent. `stream`: the
    model answers with a stream of events only.
    """

    structure: Structure = "strict"
    limit_names: tuple[LimitName, ...] = OPENAI_LIMITS
    temperature: bool = True
    seed: bool = True
    cache_key: bool = True
    system: bool = True
    stream: bool = False
    encoding_format: bool = True
    room: ReplyRoom = ALL_ROOM

    def body(self, request: ModelRequest) -> dict[str, object]:
        """The request as the JSON body of a chat completion."""
        messages = _without_empty(request.messages if self.system else _without_system(request.messages))
        body: dict[str, object] = {"model": request.model, self.limit_names[0]: self.room.of(request)}
        if self.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        if self.temperature and request.temperature is not None:
            body["temperature"] = request.temperature
        if self.seed:
            # Equal requests that differ in `sample` want different replies, also where the endpoint honours the seed.
            body["seed"] = (request.seed + request.sample) % LARGEST_SEED
        if self.cache_key and request.labels.fingerprint:
            # Calls of one prompt share their beginning: this sends them to where the provider has it cached.
            body["prompt_cache_key"] = request.labels.fingerprint
        if request.json_schema is not None:
            body |= self._response_format(request, schema=request.json_schema)
            if self.structure in ("object", "text"):
                messages = _with_schema(messages, schema=request.json_schema)
        body["messages"] = [{"role": message.role, "content": message.content} for message in messages]
        if request.tools:
            body |= {"messages": native_messages(messages), "tools": native_tools(request.tools)}
        return {**body, **request.extra_body}

    def _response_format(self, request: ModelRequest, *, schema: dict[str, object]) -> dict[str, object]:
        if self.structure == "text":
            return {}
        if self.structure == "object":
            return {"response_format": {"type": "json_object"}}
        strict = self.structure == "strict" and can_be_strict(schema)
        described = {"name": request.schema_name, "schema": schema, "strict": strict}
        return {"response_format": {"type": "json_schema", "json_schema": described}}

    def after(self, rejection: Rejection, *, request: ModelRequest) -> "ApiCompatibility | None":
        """This without what the rejection names, or None when it names nothing that can be left out."""
        if rejection.room is not None:
            room = self.room.after(rejection.room, request=request)
            return room and replace(self, room=room)
        return self._without(rejection.param, request=request) or self._without(rejection.text, request=request)

    def experiments(self, *, request: ModelRequest) -> "list[ApiCompatibility]":
        """Return this without each optional part of the request in turn, for a rejection that names none that we know."""
        if request.max_output_tokens == 0:  # texts to embed
            return [replace(self, encoding_format=False)] if self.encoding_format else []
        found: list[ApiCompatibility] = []
        other_structure = self
        while request.json_schema is not None and other_structure.structure != "text":
            other_structure = replace(other_structure, structure=other_structure._next_structure(request.json_schema))
            found.append(other_structure)
        if self.seed:
            found.append(replace(self, seed=False))
        if self.temperature and request.temperature is not None:
            found.append(replace(self, temperature=False))
        if self.cache_key and request.labels.fingerprint:
            found.append(replace(self, cache_key=False))
        return found

    def doubts(self, rejection: Rejection, *, request: ModelRequest) -> bool:
        """Return True where the rejection may be of one request alone: it neither names a parameter nor says it is unknown."""
        if rejection.room is not None or self._without(rejection.param, request=request):
            return False
        return SAYS_UNKNOWN.search(rejection.text) is None

    def changes_to(self, other: "ApiCompatibility") -> list[str]:
        """Return the changes from this to another, for a sentence."""
        changes = list[str]()
        if self.structure != other.structure:
            changes.append(f"for {WORDS_OF_STRUCTURE[other.structure]} in place of {WORDS_OF_STRUCTURE[self.structure]}")
        if self.limit_names[0] != other.limit_names[0]:
            changes.append(f"with {other.limit_names[0]} in place of {self.limit_names[0]}")
        for name, word in WORDS_OF_FIELDS.items():
            if getattr(self, name) != getattr(other, name):
                changes.append(f"with {word}" if getattr(other, name) else f"without {word}")
        if self.room.most != other.room.most and other.room.most:
            changes.append(f"for at most {other.room.most:,} tokens of a reply")
        if self.room.context != other.room.context and other.room.context:
            changes.append(f"for what a context of {other.room.context:,} tokens leaves for a reply")
        return changes

    def _without(self, text: str, *, request: ModelRequest) -> "ApiCompatibility | None":
        better = self
        if request.json_schema is not None and self.structure != "text" and NAMES_STRUCTURE.search(text):
            better = replace(better, structure=self._next_structure(request.json_schema))
        if self.system and request.messages[0].role == "system" and NAMES_SYSTEM.search(text):
            better = replace(better, system=False)
        if self.encoding_format and "encoding_format" in text:
            better = replace(better, encoding_format=False)
        if not self.stream and NAMES_STREAM.search(text):
            better = replace(better, stream=True)
        if len(self.limit_names) > 1 and self.limit_names[0] in text:
            better = replace(better, limit_names=self.limit_names[1:])
        if self.temperature and request.temperature is not None and "temperature" in text:
            better = replace(better, temperature=False)
        if self.seed and re.search(r"\bseed\b", text):
            better = replace(better, seed=False)
        if self.cache_key and "prompt_cache_key" in text:
            better = replace(better, cache_key=False)
        return None if better == self else better

    def _next_structure(self, schema: dict[str, object]) -> Structure:
        if self.structure == "strict" and can_be_strict(schema):
            return "schema"
        return "text" if self.structure == "object" else "object"


@dataclass
class Lesson:
    """What one call is sent with: as its model's calls were at `first`, without all that the endpoint has rejected since.

    `doubtful`: a rejection may have been of this request alone. `experiments`: what is left to try since a rejection that names
    nothing known; None before one.
    """

    model: str
    first: ApiCompatibility
    now: ApiCompatibility
    doubtful: bool = False
    experiments: list[ApiCompatibility] | None = None

    def take(self, rejection: Rejection, *, request: ModelRequest) -> bool:
        """Leave out what the rejection names, else one optional part after another. False where nothing is left to try."""
        better = None if self.experiments else self.now.after(rejection, request=request)
        if better is None and rejection.unexplained:
            if self.experiments is None:
                self.experiments = self.now.experiments(request=request)
            better = self.experiments.pop(0) if self.experiments else None
        if better is None:
            return False
        self.doubtful |= self.now.doubts(rejection, request=request)
        self.now = better
        return True


@dataclass
class LearnedCompatibility:
    """The compatibility of every model met so far at one address. What is learned is told once."""

    address: str = ""
    _by_model: dict[str, ApiCompatibility] = field(default_factory=dict[str, ApiCompatibility])
    _helped_once: set[tuple[str, ApiCompatibility]] = field(default_factory=set[tuple[str, ApiCompatibility]])
    _short_contexts: set[str] = field(default_factory=set[str])
    _short_texts: set[str] = field(default_factory=set[str])

    def of(self, model: str) -> ApiCompatibility:
        """Return what to assume of the model now."""
        known = self._by_model.get(model)
        if known is not None:
            return known
        return ApiCompatibility(limit_names=OPENAI_LIMITS if OPENAI_HOST.match(self.address) else OTHER_LIMITS)

    def lesson_for(self, model: str) -> Lesson:
        """Return the lesson of a new call, which has learned nothing yet."""
        return Lesson(model, self.of(model), self.of(model))

    def learn(self, lesson: Lesson) -> None:
        """Note that a call was served: later ones are asked as it was, in doubt only if that has helped another call too."""
        before = self.of(lesson.model)
        changed = {name: value for name, value in vars(lesson.now).items() if value != getattr(lesson.first, name)}
        learned = replace(before, **changed)
        if learned == before:
            return
        if lesson.doubtful and (lesson.model, learned) not in self._helped_once:
            self._helped_once.add((lesson.model, learned))
            return
        self._by_model[lesson.model] = learned
        changes = " and ".join(before.changes_to(learned))
        if changes:  # the scale of our estimates alone is nothing to tell
            LOG.warning(
                f"The model endpoint {self.address} rejected a call and took it otherwise: calls of {lesson.model!r} ask "
                f"{changes} from now on."
            )

    def note_reply(self, request: ModelRequest, reply: ModelReply, *, sent: ApiCompatibility) -> None:
        """Warn once of a model whose reply gives away that its server cuts off what its context does not hold."""
        sign = sign_of_short_context(request, reply, asked=sent.room.of(request))
        if sign and request.model not in self._short_contexts:
            self._short_contexts.add(request.model)
            LOG.warning(f"The model endpoint {self.address} {sign}. Give the model {request.model!r} a longer context there.")

    def note_too_long(self, request: ModelRequest, problem: str) -> None:
        """Say once of a model of embeddings that it takes some texts only in parts."""
        if len(request.messages) == 1 and request.model not in self._short_texts:
            self._short_texts.add(request.model)
            LOG.warning(f"The model endpoint {self.address} {problem}: {request.model!r} is given such texts in parts.")


def can_be_strict(schema: object) -> bool:
    """Return True when strict mode takes a schema: every object closed, all its properties required, nothing free."""
    if not isinstance(schema, dict):
        return False
    node = cast(dict[str, object], schema)
    if not node.keys() & {"type", "$ref", "enum", "const", "anyOf"} or node.keys() & NEVER_STRICT:
        return False
    properties = cast(dict[str, object], node.get("properties", {}))
    if node.get("type") == "object" or "properties" in node:
        required = cast(list[str], node.get("required", []))
        if node.get("additionalProperties") is not False or set(properties) != set(required):
            return False
    definitions = cast(dict[str, object], node.get("$defs", {}))
    children = [*properties.values(), *definitions.values(), *cast(list[object], node.get("anyOf", []))]
    if "items" in node or node.get("type") == "array":
        children.append(node.get("items"))
    return all(can_be_strict(child) for child in children)


def _with_schema(messages: tuple[Message, ...], *, schema: dict[str, object]) -> tuple[Message, ...]:
    words = SCHEMA_INSTRUCTION + json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    last = max((index for index, message in enumerate(messages) if message.role == "user"), default=None)
    if last is None:
        return (*messages, Message("user", words.strip()))
    return (*messages[:last], replace(messages[last], content=messages[last].content + words), *messages[last + 1 :])


def _without_system(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages with what the system says at the beginning of the first of the user's."""
    first, *rest = messages
    if first.role != "system":
        return messages
    if not rest or rest[0].role != "user":
        return (replace(first, role="user"), *rest)
    return (replace(rest[0], content=f"{first.content}\n\n{rest[0].content}"), *rest[1:])


def _without_empty(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages without empty ones of the assistant's, which many servers refuse; what then meets is one message."""
    if all(message.content.strip() or message.role != "assistant" for message in messages):
        return messages
    kept = list[Message]()
    for message in messages:
        if message.role == "assistant" and not message.content.strip():
            continue
        if kept and kept[-1].role == message.role:
            kept[-1] = replace(message, content=f"{kept[-1].content}\n\n{message.content}")
        else:
            kept.append(message)
    return tuple(kept)
