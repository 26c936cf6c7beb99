"""A user's record together with the JSON that the stores hold of it."""

import hashlib
from collections.abc import Callable, Iterable
from functools import cached_property
from typing import Generic, TypeVar

from assets.records.base import ItemRecord

R = TypeVar("R", bound=ItemRecord)
R_co = TypeVar("R_co", bound=ItemRecord, covariant=True)


class SerializedRecord(Generic[R_co]):
    """A stage's record of one user. It is serialized once, when it is made, and decoded only where somebody looks into it.

    Keys of later work and digests of snapshots are over `text`. `decode` turns that into the record, and raises what its
    store has to say about a text that is none.
    """

    def __init__(self, text: str, *, decode: Callable[[str], R_co]) -> None:
        self.text = text
        self._decode = decode

    @cached_property
    def record(self) -> R_co:
        """The record; decoded when first asked for."""
        return self._decode(self.text)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()


def serialize_record(record: R) -> SerializedRecord[R]:
    """Wrap a record that was made just now, which nobody has to decode."""
    return SerializedRecord(record.model_dump_json(), decode=lambda _: record)


def serialized_rows(rows: Iterable[tuple[int, R]]) -> list[tuple[int, SerializedRecord[R]]]:
    return [(position, serialize_record(record)) for position, record in rows]
