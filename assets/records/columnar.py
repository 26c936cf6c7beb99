"""Records as Arrow tables and back, without loss. Column types follow from the records' annotations.

Dates and times are ISO text, which no reader shifts to a timezone, and a value of any kind is JSON. A dict becomes a list of
key and value: a struct would give every row the keys of all rows, and forget their order.
"""

import json
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache
from itertools import accumulate, chain
from operator import attrgetter
from typing import Annotated, Any, Literal, TypeVar, Union, cast, get_args, get_origin

import pyarrow as pa
from pydantic import JsonValue

from assets.records.base import Record

R = TypeVar("R", bound=Record)
# Rows by field: as many values in each column.
Columns = Mapping[str, Sequence[Any]]
# Arrow's arrays, which are typed in part only.
arrow: Any = pa
PLAIN: dict[Any, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


def _same(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class Column:
    """The column of one annotation: the values' type in Arrow, how they go in, how they come out."""

    type: pa.DataType
    encode: Callable[[Any], Any] = _same
    decode: Callable[[Any], Any] = _same
    columns: Callable[[Sequence[Any]], Any] | None = None

    def array(self, values: Sequence[Any]) -> Any:
        """All values at once: lists and structs by their parts, which takes a fraction of the time of row by row."""
        return self.columns(values) if self.columns is not None else arrow.array(self.encode_values(values), self.type)

    def encode_values(self, values: Sequence[Any]) -> Sequence[Any]:
        """Each value as it goes in."""
        return values if self.encode is _same else list(map(self.encode, values))


@cache
def arrow_schema(record_type: type[Record]) -> pa.Schema:
    """One column for each field, in order. Raises TypeError for an annotation that has no lossless column."""
    return pa.schema([(name, column.type) for name, column in _columns(record_type).items()])


def columns_of(records: Sequence[R], *, record_type: type[R]) -> Columns:
    return {name: list(map(attrgetter(name), records)) for name in record_type.model_fields}


def to_table(records: Sequence[R], *, record_type: type[R]) -> pa.Table:
    return table_of(columns_of(records, record_type=record_type), record_type=record_type)


def table_of(columns: Columns, *, record_type: type[Record]) -> pa.Table:
    """The table of records with these values."""
    return pa.Table.from_arrays(_arrays(columns, record_type), schema=arrow_schema(record_type))


def _arrays(columns: Columns, record_type: type[Record]) -> list[Any]:
    return [column.array(columns[name]) for name, column in _columns(record_type).items()]


def rows_as_dicts(columns: Columns, *, record_type: type[Record]) -> list[dict[str, Any]]:
    """Return the rows that reading that table back gives, as dicts with keys in alphabetical order at every depth."""
    known = _columns(record_type)
    names = sorted(known)
    values = [known[name].encode_values(columns[name]) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def from_table(table: pa.Table, *, record_type: type[R]) -> list[R]:
    """Rebuild and validate the records; other columns are ignored, and one that is missing has the field's default.

    Raises KeyError when a column without a default is missing and pydantic's ValidationError when a row is not such a record.
    """
    fields = record_type.model_fields
    there = [name for name in fields if name in table.column_names or fields[name].is_required()]
    rows = cast(list[Any], table.select(there).to_pylist())
    return [from_row(row, record_type=record_type) for row in rows]


def from_row(row: Mapping[str, Any], *, record_type: type[R]) -> R:
    """Rebuild one record from a row of such a table. Raises as `from_table` does."""
    columns = _columns(record_type)
    return record_type.model_validate({name: columns[name].decode(row[name]) for name in columns if name in row})


def _column(annotation: Any) -> Column:
    origin = get_origin(annotation)
    arguments = get_args(annotation)
    if isinstance(annotation, type) and annotation in PLAIN:
        return Column(PLAIN[annotation])
    if annotation is date:
        return Column(pa.string(), encode=date.isoformat, decode=date.fromisoformat)
    if annotation is datetime:
        return Column(pa.string(), encode=lambda moment: moment.isoformat(sep=" "), decode=datetime.fromisoformat)
    if annotation is JsonValue:
        return Column(pa.string(), encode=json.dumps, decode=json.loads)
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return _record(annotation)
    if origin is Annotated:
        return _column(arguments[0])
    if origin is Literal and all(isinstance(choice, str) for choice in arguments):
        return Column(pa.string())
    if origin in (Union, types.UnionType) and len(arguments) == 2 and type(None) in arguments:
        first, second = arguments
        return _optional(_column(second if first is type(None) else first))
    if origin is list or (origin is tuple and arguments[1:] == (...,)):
        return _many(_column(arguments[0]))
    if origin is dict and _column(arguments[0]) == Column(pa.string()):
        return _mapping(_column(arguments[1]))
    raise TypeError(f"{annotation!r} has no lossless Arrow column.")


def _optional(inner: Column) -> Column:
    if inner == Column(inner.type):
        return inner  # Arrow's own null
    return Column(
        inner.type,
        encode=lambda value: None if value is None else inner.encode(value),
        decode=lambda value: None if value is None else inner.decode(value),
    )


def _many(item: Column) -> Column:
    return Column(
        pa.list_(item.type),
        encode=lambda values: list(map(item.encode, values)),
        decode=lambda values: list(map(item.decode, values)),
        columns=lambda lists: _lists(lists, item.array(list(chain.from_iterable(lists)))),
    )


def _lists(lists: Sequence[Any], items: Any) -> Any:
    """Lists of which all items are there already, one list after the other."""
    ends = arrow.array([0, *accumulate(map(len, lists))], pa.int32())
    return arrow.ListArray.from_arrays(ends, items)


def _mapping(value: Column) -> Column:
    pair = pa.struct([("key", pa.string()), ("value", value.type)])

    def columns(mappings: Sequence[Any]) -> Any:
        keys = arrow.array(list(chain.from_iterable(mappings)), pa.string())
        values = value.array(list(chain.from_iterable(map(dict[str, Any].values, mappings))))
        return _lists(mappings, arrow.StructArray.from_arrays([keys, values], fields=list(pair)))

    return Column(
        pa.list_(pair),
        encode=lambda pairs: [{"key": key, "value": value.encode(item)} for key, item in pairs.items()],
        decode=lambda pairs: {pair["key"]: value.decode(pair["value"]) for pair in pairs},
        columns=columns,
    )


def _record(record_type: type[Record]) -> Column:
    columns = _columns(record_type)
    # Most columns go in as they are; a call for each of them would take most of the time.
    names = sorted(columns)
    encoders = {name: column.encode for name, column in columns.items() if column.encode is not _same}
    decoders = {name: column.decode for name, column in columns.items() if column.decode is not _same}
    struct = pa.struct(list(arrow_schema(record_type)))

    def encode(record: Any) -> dict[str, Any]:
        values = {name: getattr(record, name) for name in names}
        for name, encode_value in encoders.items():
            values[name] = encode_value(values[name])
        return values

    def decode(stored: Mapping[str, Any]) -> dict[str, Any]:
        values = {name: stored[name] for name in columns}
        for name, decode_value in decoders.items():
            values[name] = decode_value(values[name])
        return values

    def arrays(records: Sequence[Any]) -> Any:
        parts = _arrays(columns_of(records, record_type=record_type), record_type)
        return arrow.StructArray.from_arrays(parts, fields=list(struct))

    return Column(struct, encode=encode, decode=decode, columns=arrays)


@cache
def _columns(record_type: type[Record]) -> dict[str, Column]:
    return {name: _column(field.annotation) for name, field in record_type.model_fields.items()}
