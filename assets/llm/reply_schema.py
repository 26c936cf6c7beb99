"""Shapes of replies: what a model is told of the form, and what is let through.

A shape that is made for one call has its names, values and counts in it, so that an illegal one cannot be answered where
the endpoint enforces schemas, and is named in the objection where it does not. Such shapes are put together from parts:
a class for every call, or a JSON schema derived from one, would cost milliseconds, and memory that stays.
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


class _Bare(GenerateJsonSchema):
    """JSON schemas without titles and our docstrings, which are no concern of the model's and cost tokens."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        found = super().model_schema(schema)
        return {key: value for key, value in found.items() if key not in ("title", "description")}


def told_of(core: CoreSchema) -> dict[str, Any]:
    """The JSON schema of a core schema."""
    return _Bare(by_alias=True).generate(core)


@dataclass(frozen=True)
class Part:
    """A piece of a shape: what is let through, and the JSON schema that says the same."""

    core: CoreSchema
    told: dict[str, Any]


@dataclass(frozen=True)
class Shape(Generic[T]):
    """The form of one reply, whose content reads as T."""

    whole: Part

    @property
    def json_schema(self) -> dict[str, Any]:
        """What an endpoint is told."""
        return self.whole.told

    @cached_property
    def _validator(self) -> SchemaValidator:
        return SchemaValidator(self.whole.core)

    def read(self, content: object) -> T:
        """The reply's content. Raises pydantic's ValidationError where it has another form."""
        return cast(T, self._validator.validate_python(content))


def _part(core: CoreSchema) -> Part:
    return Part(core, told_of(core))


TEXT = _part(TypeAdapter(Text).core_schema)
NAME = _part(TypeAdapter(Name).core_schema)


@cache
def shape_of(model: type[M]) -> Shape[M]:
    """The shape of a fixed model."""
    return Shape(_part(model.__pydantic_core_schema__))


def among(values: Sequence[str]) -> Part:
    """One of these values, to the letter."""
    legal: dict[str, Any] = {"const": values[0]} if len(values) == 1 else {"enum": list(values)}
    return Part(core_schema.literal_schema(list(values)), {**legal, "type": "string"})


def number(least: int, most: int) -> Part:
    """A whole number; digits in quotes will do."""
    return Part(core_schema.int_schema(ge=least, le=most), {"maximum": most, "minimum": least, "type": "integer"})


def many(item: Part, *, least: int = 1, most: int | None = None) -> Part:
    """A list of so many items; of exactly `least` where `most` is the same."""
    told = {"items": item.told, "minItems": least, "type": "array", **({} if most is None else {"maxItems": most})}
    return Part(core_schema.list_schema(item.core, min_length=least, max_length=most), told)


def keyed(fields: Mapping[str, Part], *, required: bool = True) -> Part:
    """An object with these keys and no others, which may have any name; some may be missing unless `required`."""
    parts = {name: core_schema.typed_dict_field(part.core, required=required) for name, part in fields.items()}
    told: dict[str, Any] = {"additionalProperties": False, "properties": {name: part.told for name, part in fields.items()}}
    told |= {"type": "object", **({"required": list(fields)} if required else {})}
    return Part(core_schema.typed_dict_schema(parts, extra_behavior="forbid"), told)


def one_of_each(choices: Mapping[str, Sequence[str]], *, required: bool = True) -> Part:
    """An object that maps every name to one of its choices."""
    return keyed({name: among(values) for name, values in choices.items()}, required=required)
