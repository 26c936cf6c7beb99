"""The base of all records: frozen, no unknown fields, canonical bytes."""

import hashlib
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class Record(BaseModel):
    """Immutable; two equal records have equal `sha256`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    def sha256(self) -> str:
        """sha256 of the record's canonical JSON, in hex."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()


class UserRecord(Record):
    """What one stage made for one user. `user_id` is the persona's uuid."""

    user_id: Name = Field(description="the persona's uuid")


def unit(name: str) -> dict[str, JsonValue]:
    """For `json_schema_extra` of a number's field: the unit it is counted in."""
    return {"unit": name}


def duplicates(items: tuple[str, ...] | list[str]) -> list[str]:
    """The items that occur more than once, in order of first repetition."""
    if len(set(items)) == len(items):  # nearly always, and asked whenever a record is read
        return []
    return list(dict.fromkeys(item for index, item in enumerate(items) if item in items[:index]))
