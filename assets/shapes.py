"""Reply shapes built per call, so that an illegal value cannot be answered."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, create_model

from assets.records.base import Name


class LegalReply(BaseModel):
    """Base of the shapes below: a fixed set of keys, which may be any text (they are aliases)."""

    model_config = ConfigDict(extra="forbid")

    def given(self) -> dict[str, Any]:
        """What was answered, by the real keys."""
        return self.model_dump(by_alias=True, exclude_unset=True)


def one_of_each(choices: Mapping[str, Sequence[str]], *, required: bool = True) -> type[LegalReply]:
    """A shape that maps every key to one of its choices; keys may be left out unless `required`."""
    return _one_of_each(tuple((name, tuple(values)) for name, values in choices.items()), required)


@lru_cache(maxsize=64)
def _one_of_each(choices: tuple[tuple[str, tuple[str, ...]], ...], required: bool) -> type[LegalReply]:
    # Field names are numbers behind aliases: a variable may be called anything, also what no attribute may.
    fields: dict[str, Any] = {
        f"f{index}": (Literal[values], Field(alias=name) if required else Field(default=None, alias=name))
        for index, (name, values) in enumerate(choices)
    }
    return create_model("LegalReply", __base__=LegalReply, **fields)


def texts(keys: Sequence[str]) -> type[LegalReply]:
    """A shape that maps every key to a non-empty text."""
    fields: dict[str, Any] = {f"f{index}": (str, Field(alias=key, min_length=1)) for index, key in enumerate(keys)}
    return create_model("LegalReply", __base__=LegalReply, **fields)


def lists(keys: Sequence[str], *, length: int) -> type[LegalReply]:
    """A shape that maps every key to a list of exactly `length` names."""
    kind = cast(Any, list[Name])
    fields: dict[str, Any] = {
        f"f{index}": (kind, Field(alias=key, min_length=length, max_length=length)) for index, key in enumerate(keys)
    }
    return create_model("LegalReply", __base__=LegalReply, **fields)
