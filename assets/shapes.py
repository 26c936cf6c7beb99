"""Shapes of replies: what a model is told of the form, and what is let through.

A shape that is made for one call has its names, values and counts in it, so that an illegal one cannot be answered where
the endpoint enforces schemas, and is named in the objection where it does not. Such shapes are plain core schemas: a
class for every call would cost milliseconds, and memory that stays.
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
Part = CoreSchema
TEXT: Part = TypeAdapter(Text).core_schema
NAME: Part = TypeAdapter(Name).core_schema


class _Bare(GenerateJsonSchema):
    """JSON schemas without titles and our docstrings, which are no concern of the model's and cost tokens."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        found = super().model_schema(schema)
        return {key: value for key, value in found.items() if key not in ("title", "description")}


@dataclass(frozen=True)
class Shape(Generic[T]):
    """The form of one reply, whose content reads as T."""

    core: Part

    @cached_property
    def json_schema(self) -> dict[str, Any]:
        """What an endpoint is told."""
        return _Bare(by_alias=True).generate(self.core)

    @cached_property
    def _validator(self) -> SchemaValidator:
        return SchemaValidator(self.core)

    def read(self, content: object) -> T:
        """The reply's content. Raises pydantic's ValidationError where it has another form."""
        return cast(T, self._validator.validate_python(content))


@cache
def shape_of(model: type[M]) -> Shape[M]:
    """The shape of a fixed model."""
    return Shape(model.__pydantic_core_schema__)


def among(values: Sequence[Any]) -> Part:
    """One of these values, to the letter."""
    return core_schema.literal_schema(list(values))


def number(least: int, most: int) -> Part:
    """A whole number; digits in quotes will do."""
    return core_schema.int_schema(ge=least, le=most)


def many(item: Part, *, least: int = 1, most: int | None = None) -> Part:
    """A list of so many items; of exactly `least` where `most` is the same."""
    return core_schema.list_schema(item, min_length=least, max_length=most)


def keyed(fields: Mapping[str, Part], *, required: bool = True) -> Part:
    """An object with these keys and no others, which may have any name; some may be missing unless `required`."""
    parts = {name: core_schema.typed_dict_field(part, required=required) for name, part in fields.items()}
    return core_schema.typed_dict_schema(parts, extra_behavior="forbid")


def one_of_each(choices: Mapping[str, Sequence[str]], *, required: bool = True) -> Part:
    """An object that maps every name to one of its choices."""
    return keyed({name: among(values) for name, values in choices.items()}, required=required)
