"""JSON schemas of replies: what a model is asked to send, and the validator that lets the same through and nothing else.

A schema that is made for one call has its names, values and counts in it. Where the endpoint enforces schemas an illegal
reply cannot be sent; where it does not, the objection names what is wrong. Such schemas are put together from parts: a
pydantic class for every call, or a JSON schema derived from one, would cost milliseconds, and memory that is never freed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Generic, TypeVar, cast

from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from assets.records.base import Name, Text

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)


class _PlainJsonSchema(GenerateJsonSchema):
    """JSON schemas without titles and our docstrings, which cost tokens and tell the model nothing."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        json_schema = super().model_schema(schema)
        return {key: value for key, value in json_schema.items() if key not in ("title", "description")}


def json_schema_of(core: CoreSchema) -> dict[str, Any]:
    return _PlainJsonSchema(by_alias=True).generate(core)


@dataclass(frozen=True)
class SchemaPart:
    """A piece of a reply's schema: pydantic's core schema, which validates, and the JSON schema that says the same."""

    core: CoreSchema
    json_schema: dict[str, Any]


@dataclass(frozen=True)
class ReplySchema(Generic[T]):
    """The schema of one reply, whose content validates as T."""

    root: SchemaPart

    @property
    def json_schema(self) -> dict[str, Any]:
        """What the endpoint receives; part of the request's identity."""
        return self.root.json_schema

    @cached_property
    def _validator(self) -> SchemaValidator:
        return SchemaValidator(self.root.core)

    def validate(self, content: object) -> T:
        """The reply's content as T. Raises pydantic's ValidationError where it does not match."""
        return cast(T, self._validator.validate_python(content))


def _part(core: CoreSchema) -> SchemaPart:
    return SchemaPart(core, json_schema_of(core))


TEXT = _part(TypeAdapter(Text).core_schema)
NAME = _part(TypeAdapter(Name).core_schema)


@cache
def schema_of_model(model: type[M]) -> ReplySchema[M]:
    """The schema of a fixed pydantic model."""
    return ReplySchema(_part(model.__pydantic_core_schema__))


def enum_of(values: Sequence[str]) -> SchemaPart:
    """A string that is one of these; a single one becomes a constant."""
    legal: dict[str, Any] = {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
    return SchemaPart(core_schema.literal_schema(list(values)), {**legal, "type": "string"})


def integer_between(minimum: int, maximum: int) -> SchemaPart:
    """An integer from `minimum` to `maximum`; digits in quotes are accepted."""
    json_schema = {"maximum": maximum, "minimum": minimum, "type": "integer"}
    return SchemaPart(core_schema.int_schema(ge=minimum, le=maximum), json_schema)


def list_of(item: SchemaPart, *, min_items: int = 1, max_items: int | None = None) -> SchemaPart:
    json_schema = {"items": item.json_schema, "minItems": min_items, "type": "array"}
    json_schema |= {} if max_items is None else {"maxItems": max_items}
    return SchemaPart(core_schema.list_schema(item.core, min_length=min_items, max_length=max_items), json_schema)


def object_of(fields: Mapping[str, SchemaPart], *, required: bool = True) -> SchemaPart:
    """An object with these keys and no others. Keys may have any name; some may be missing unless `required`."""
    parts = {name: core_schema.typed_dict_field(part.core, required=required) for name, part in fields.items()}
    properties = {name: part.json_schema for name, part in fields.items()}
    json_schema: dict[str, Any] = {"additionalProperties": False, "properties": properties}
    json_schema |= {"type": "object", **({"required": list(fields)} if required else {})}
    return SchemaPart(core_schema.typed_dict_schema(parts, extra_behavior="forbid"), json_schema)


def object_of_enums(choices: Mapping[str, Sequence[str]], *, required: bool = True) -> SchemaPart:
    """An object that maps every name to one of its choices."""
    return object_of({name: enum_of(values) for name, values in choices.items()}, required=required)
