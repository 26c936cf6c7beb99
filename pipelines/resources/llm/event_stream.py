"""A completion that came as a stream of events, put together as if it had come in one piece."""

import re
from collections import defaultdict
from typing import Any

from pydantic import BaseModel, ValidationError

from assets.llm.answer_text import REASONING_FIELDS

STREAM = re.compile(r"\s*(?::[^\n]*\n\s*)*(?:event|data|id|retry):")
CHUNK = re.compile(rb"^data:[ \t]*(\{.*)$", re.MULTILINE)
DONE = re.compile(rb"^data:[ \t]*\[DONE\]", re.MULTILINE)
INTERRUPTED = "interrupted"  # the finish reason of a stream that has no end
TEXT_FIELDS = ("content", "refusal", *REASONING_FIELDS)


class _Function(BaseModel):
    arguments: str | None = None


class _ToolCall(BaseModel):
    index: int = 0
    function: _Function = _Function()


class _Delta(BaseModel, extra="allow"):
    tool_calls: list[_ToolCall] | None = None


class _Choice(BaseModel):
    delta: _Delta = _Delta()
    finish_reason: str | int | None = None


class _Chunk(BaseModel):
    choices: list[_Choice] | None = None
    usage: dict[str, Any] | None = None
    error: Any = None


def is_event_stream(content: bytes) -> bool:
    """Return True for the body of a stream of events."""
    return STREAM.match(content[:4000].decode(errors="replace")) is not None


def joined_completion(content: bytes) -> dict[str, Any] | None:
    """Return the completion whose chunks stand in a stream; None where there is no chunk, or one that cannot be read."""
    texts = defaultdict[str, list[Any]](list)
    arguments = defaultdict[int, str](str)
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
            for name, value in (choice.delta.model_extra or {}).items():
                if name in TEXT_FIELDS and value:
                    texts[name] += [value] if isinstance(value, str) else value
            for call in choice.delta.tool_calls or []:
                arguments[call.index] += call.function.arguments or ""
    if not any(chunk.choices for chunk in chunks):
        return None
    if not finish and not DONE.search(content):
        finish = INTERRUPTED
    message: dict[str, Any] = {**texts, "refusal": "".join(texts["refusal"])}
    message["tool_calls"] = [{"function": {"arguments": each}} for each in arguments.values()]
    return {**completion, "choices": [{"message": message, "finish_reason": finish}]}
