"""Replies in the shape of a JSON schema that is none of ours, as memories of others send them with their own prompts.

They ask for lists of things and of how these hang together. The reply holds what the user says, as one thing beside the user.
"""

import json
import re
from collections.abc import Mapping
from typing import Any, cast

from pipelines.embedded.assistant.chat import give_advice
from pipelines.embedded.assistant.memory_tasks import statements
from pipelines.embedded.task import PromptTask

SPEAKER = "user"
NONE_OF_THEM = -1  # where a number is asked for, which is mostly the place of something in the prompt
DEEPEST = 8  # of schemas that hold themselves

Schema = Mapping[str, Any]


def find_schema(text: str) -> dict[str, Any] | None:
    """Return the first JSON schema of an object with parts that stands in the text."""
    for opening in re.finditer(r"\{", text):
        try:
            value, _ = json.JSONDecoder().raw_decode(text, opening.start())
        except ValueError:
            continue  # a brace of a sentence
        if isinstance(value.get("properties"), dict):
            return value
    return None


def shaped_reply(task: PromptTask, schema: Schema) -> object:
    """Return the value of the schema: the statements of the request's user in place of each text, else a chat's reply."""
    text = " ".join(statements(task.request)) or give_advice(task.request, task)
    return _fill(schema, schema.get("$defs", {}), text, depth=0)


def _fill(schema: Schema, definitions: Mapping[str, Schema], text: str, *, depth: int) -> object:
    if "$ref" in schema:
        schema = definitions[str(schema["$ref"]).rpartition("/")[2]]
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    choices: list[Schema] = schema.get("anyOf") or schema.get("oneOf") or []
    if {"type": "null"} in choices or depth > DEEPEST:
        return None
    if choices:
        return _fill(choices[0], definitions, text, depth=depth + 1)
    kind = schema.get("type")
    if kind == "object":
        return _fill_object(schema, definitions, text, depth=depth)
    if kind == "array":
        return _fill_list(cast(Schema, schema.get("items", {})), definitions, text, depth=depth)
    plain: dict[object, object] = {"string": text, "boolean": False, "null": None}
    return plain.get(kind, schema.get("minimum", NONE_OF_THEM))


def _fill_object(schema: Schema, definitions: Mapping[str, Schema], text: str, *, depth: int) -> dict[str, object]:
    filled: dict[str, object] = {}
    properties: Mapping[str, Schema] = schema.get("properties", {})
    for name in schema.get("required", properties):
        value = SPEAKER if name.startswith("source") else text
        filled[name] = _fill(properties.get(name, {"type": "string"}), definitions, value, depth=depth + 1)
    return filled


def _fill_list(item: Schema, definitions: Mapping[str, Schema], text: str, *, depth: int) -> list[object]:
    """Return an item; of things with a name the speaker too; nothing where numbers are asked for."""
    if "$ref" in item:
        item = definitions[str(item["$ref"]).rpartition("/")[2]]
    if item.get("type") not in ("object", "string"):
        return []
    texts = [SPEAKER, text] if "name" in item.get("properties", {}) else [text]
    return [_fill(item, definitions, each, depth=depth + 1) for each in texts]
