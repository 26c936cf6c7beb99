"""Fields and columns for the card: name, type and meaning of everything in the nested rows and the flat tables."""

from collections.abc import Iterable, Iterator, Mapping
from types import UnionType
from typing import Any, NamedTuple, cast, get_args, get_origin

from assets.records.base import Record
from assets.records.flat_tables import Table

WORDS = {
    "str": "text",
    "int": "whole number",
    "float": "number",
    "bool": "true or false",
    "datetime": "time, as ISO text",
    "date": "day, as ISO text",
}


class FieldRow(NamedTuple):
    """One line of the list: `name` is dotted, with [] behind what there are several of."""

    name: str
    kind: str
    meaning: str


def column_rows(tables: Mapping[str, Table], *, shown: Iterable[str]) -> Iterator[FieldRow]:
    """The columns of these tables, with the table before the dot."""
    for table in shown:
        yield from field_rows(tables[table].row, above=f"{table}.")


def field_rows(record: type[Record], *, above: str = "") -> Iterator[FieldRow]:
    """The fields of a record and of the records in it, in order."""
    for name, info in record.model_fields.items():
        several = get_origin(info.annotation) is tuple
        inner: Any = get_args(info.annotation)[0] if several else info.annotation
        path = f"{above}{name}{'[]' if several else ''}"
        is_record = isinstance(inner, type) and issubclass(inner, Record)
        yield FieldRow(path, "record" if is_record else _kind(inner), info.description or "")
        if is_record:
            yield from field_rows(cast(type[Record], inner), above=f"{path}.")


def _kind(annotation: Any) -> str:
    if get_origin(annotation) is dict:
        key, value = get_args(annotation)
        return f"{_kind(key)} to {_kind(value)}"
    if isinstance(annotation, UnionType):
        return " or ".join("nothing" if part is type(None) else _kind(part) for part in get_args(annotation))
    return WORDS.get(getattr(annotation, "__name__", ""), "text")
