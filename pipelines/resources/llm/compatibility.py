"""What an endpoint supports of the chat API: assumed to be everything, then learned from the requests it rejects."""

import json
import re
from dataclasses import dataclass, replace
from typing import Literal, cast

from assets.llm.ports import ModelRequest
from prompts.template import Message

Structure = Literal["strict", "schema", "object", "text"]
LimitName = Literal["max_completion_tokens", "max_tokens"]

SCHEMA_INSTRUCTION = "\n\nAnswer with one JSON object alone. It must fit this JSON schema:\n"
NAMES_STRUCTURE = re.compile(
    r"response_?format|json_?schema|json_?object|structured.output|guided|grammar|\bschema\b", re.IGNORECASE
)
NEVER_STRICT = {"patternProperties", "prefixItems", "oneOf", "allOf", "not"}
LARGEST_SEED = 2**31


@dataclass(frozen=True)
class Rejection:
    """Why an endpoint rejected a request: its words, and the parameter it named, if it did."""

    text: str = ""
    param: str = ""


@dataclass(frozen=True)
class ApiCompatibility:
    """What one model at one endpoint accepts of a chat completion's parameters."""

    structure: Structure = "strict"
    limit_name: LimitName = "max_completion_tokens"
    temperature: bool = True
    seed: bool = True
    cache_key: bool = True

    def body(self, request: ModelRequest) -> dict[str, object]:
        """The request as the JSON body of a chat completion."""
        messages = request.messages
        body: dict[str, object] = {"model": request.model, self.limit_name: request.max_output_tokens}
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
        return body | {"messages": [{"role": message.role, "content": message.content} for message in messages]}

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
        return self._without(rejection.param, request=request) or self._without(rejection.text, request=request)

    def _without(self, text: str, *, request: ModelRequest) -> "ApiCompatibility | None":
        better = self
        if request.json_schema is not None and self.structure != "text" and NAMES_STRUCTURE.search(text):
            better = replace(better, structure=self._next_structure(request.json_schema))
        if self.limit_name == "max_completion_tokens" and self.limit_name in text:
            better = replace(better, limit_name="max_tokens")
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


class LearnedCompatibility:
    """What every model met so far accepts."""

    def __init__(self) -> None:
        self._by_model: dict[str, ApiCompatibility] = {}

    def of(self, model: str) -> ApiCompatibility:
        """What to assume of the model now."""
        return self._by_model.get(model, ApiCompatibility())

    def learn(self, rejection: Rejection, *, request: ModelRequest, sent: ApiCompatibility) -> bool:
        """Learn from a rejection. True when it is worth asking again."""
        if self.of(request.model) != sent:
            return True  # another call has learned something since this one was sent
        better = sent.after(rejection, request=request)
        if better is not None:
            self._by_model[request.model] = better
        return better is not None


def can_be_strict(schema: object) -> bool:
    """Whether strict mode takes a schema: every object closed, all its properties required, nothing free."""
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
