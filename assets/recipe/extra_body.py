"""Fields of one's own in a model's requests, such as `chat_template_kwargs`: plain values, sent as they are given.

They decide replies, so that they are part of a recipe's fingerprint and of a reply's key. They stand in files that are shared.
"""

import json
import re
from collections.abc import Iterator
from operator import not_
from typing import Annotated, Any, cast

from pydantic import AfterValidator, Field, JsonValue

from assets.records.base import Name

MOST_CHARACTERS = 10_000
# Fields that the client sets itself, with what decides them.
SET_BY_THE_CLIENT = {
    "model": "the field model",
    "messages": "the prompt",
    "prompt": "the prompt",
    "input": "the texts",
    "temperature": "the field temperature",
    "max_tokens": "the field max_output_tokens",
    "max_completion_tokens": "the field max_output_tokens",
    "seed": "the field seed",
    "response_format": "the form of the reply",
    "encoding_format": "the form of the reply",
    "prompt_cache_key": "the prompt",
    "stream": "the client, which reads replies in one piece",
    "stream_options": "the client, which reads replies in one piece",
    "n": "the client, which reads one reply",
    "best_of": "the client, which reads one reply",
}
SECRET_NAME = re.compile(
    r"(^|[_-])(api[_-]?key|authorization|secret([_-]key)?|password|passwd|credentials?|cookie|private[_-]?key"
    r"|(access|auth|bearer|refresh|session|security|hf|id)[_-]?token)$|^token$",
    re.IGNORECASE,
)
# Keys of common providers, a header's value, an address with a login.
SECRET_VALUE = re.compile(
    r"\b(?:sk|pk|rk|hf|gsk|xai|nvapi)[-_][\w-]{8,}|\bAIza[\w-]{8,}|^(?:Bearer|Basic)\s+\S|://[^/\s@]*:[^/\s@]+@", re.IGNORECASE
)


def _sendable(fields: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the fields in the order of names, so that equal ones give equal bytes. Raises ValueError."""
    for name in fields:
        decided_by = SET_BY_THE_CLIENT.get(name.lower())
        if decided_by:
            raise ValueError(f"may not hold {name!r}, which is decided by {decided_by}; take it out.")
    for name, value in _texts_of(fields):
        if SECRET_NAME.search(name) or SECRET_VALUE.search(value):
            raise ValueError(
                f"holds a secret at {name!r}, and recipes are shared with releases; send secrets as headers, with the "
                "environment variable AMEMGYM_HEADERS."
            )
    try:
        text = json.dumps(fields, sort_keys=True, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except ValueError:
        raise ValueError("holds a number or a letter that no JSON can hold; take it out.") from None
    if size > MOST_CHARACTERS:
        raise ValueError(f"has {size:,} characters as JSON, and {MOST_CHARACTERS:,} are the most; send less.")
    return cast(dict[str, JsonValue], json.loads(text))


def _texts_of(value: object, name: str = "") -> Iterator[tuple[str, str]]:
    """Every text in the value, with the name of its field."""
    if isinstance(value, str):
        yield name, value
    elif isinstance(value, list):
        for part in cast(list[object], value):
            yield from _texts_of(part, name)
    elif isinstance(value, dict):
        for key, part in cast(dict[str, object], value).items():
            yield from _texts_of(part, key)


ExtraBody = Annotated[dict[Name, JsonValue], AfterValidator(_sendable)]


def extra_body_field() -> Any:
    """The field of a record that holds such fields; a record without any does not name them."""
    return Field(
        default_factory=dict[str, JsonValue],
        exclude_if=not_,
        description="further fields of each request as the endpoint takes them, such as chat_template_kwargs; no secrets",
    )
