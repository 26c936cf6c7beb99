"""Flat tables of a release, derived from a finished item's record: a path into it, and columns by name.

A row stands for a place in the item. Its columns are fields of the records on the path to that place, innermost first; what is
no field is worked out by a function of the place.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, NamedTuple, Self, get_args, get_origin, get_type_hints

from pydantic import Field, create_model

from assets.records.base import Record


class Entry(NamedTuple):
    """A key and a value, where a step of a path leads into a dictionary."""

    key: Any
    value: Any


class ItemPath(NamedTuple):
    """A place in an item: the records on the path to it, the item first, and the number of each among its like, from 0."""

    records: tuple[Any, ...]
    numbers: tuple[int, ...]

    @property
    def record(self) -> Any:
        """The innermost record."""
        return self.records[-1]

    def find(self, field: str) -> object:
        """Return a field, or a field of a field, of the innermost record that has it. Raises StopIteration where none has."""
        first, *rest = field.split(".")
        found = next(getattr(record, first) for record in reversed(self.records) if hasattr(record, first))
        for step in rest:
            found = getattr(found, step)
        return found


@dataclass(frozen=True)
class TableColumn:
    """A column that is worked out; `kind` is the type of its values."""

    name: str
    kind: Any
    description: str
    value: Callable[[ItemPath], object]


def number(name: str, description: str, *, of: int = -1, first: int = 0) -> TableColumn:
    """Return the column that numbers the records of one step of the path, from `first` on."""
    return TableColumn(name, int, description, lambda place: place.numbers[of] + first)


class FlatRow(Record):
    """A row of a table that follows from finished items."""

    item_path: ClassVar[tuple[str, ...]]
    column_values: ClassVar[Mapping[str, Callable[[ItemPath], object]]]

    @classmethod
    def rows_of(cls, item: Record) -> Iterator[Self]:
        """Yield the item's rows."""
        for place in _places(ItemPath((item,), (0,)), cls.item_path):
            yield cls.model_validate({name: value(place) for name, value in cls.column_values.items()})


def flat_row(item: type[Record], path: str, meaning: str, *columns: str | TableColumn) -> type[FlatRow]:
    """Return the class of the rows at a dotted path into a finished item; "" is the item itself.

    A step leads to a record, to each of several, or to each entry of a dictionary. Columns in words are names of fields with
    spaces between them, or `column=field.of.record` for a field of another name. `meaning`: what one row is.
    """
    steps = tuple(path.split(".")) if path else ()
    kinds: list[Any] = [item]
    for step in steps:
        kinds.append(_kind_of_each(_annotation(kinds[-1], step)))
    found: list[TableColumn] = []
    for column in columns:
        found += [column] if isinstance(column, TableColumn) else [_column_of_field(words, kinds) for words in column.split()]
    fields: dict[str, Any] = {}
    for column in found:
        fields[column.name] = (column.kind, Field(description=column.description or None))
    row = create_model("Row", __base__=FlatRow, __doc__=meaning or None, **fields)
    row.item_path = steps
    row.column_values = {column.name: column.value for column in found}
    return row


def preview_rows(path: str, columns: str) -> Callable[[Record], list[dict[str, object]]]:
    """Return what shows the records at a dotted path into a record, "" for itself: a row for each, with columns by name.

    Columns are written as for `flat_row`.
    """
    names = [words.partition("=") for words in columns.split()]
    steps = tuple(path.split(".")) if path else ()

    def rows(item: Record) -> list[dict[str, object]]:
        found: list[dict[str, object]] = []
        for place in _places(ItemPath((item,), (0,)), steps):
            found.append({name: place.find(field or name) for name, _, field in names})
        return found

    return rows


@dataclass(frozen=True)
class Table:
    """A flat table of a release: columns and types are the fields of `row`; the columns of `key` tell its rows apart.

    `unread` are columns that no assistant reads or is scored on; every other one is a label,
    which decides the version. `scored` is false for rows that only say how others came about. `group`: columns of a whole
    that takes no further rows, such as a question's options.
    """

    row: type[Record]
    key: tuple[str, ...]
    unread: frozenset[str] = frozenset()
    scored: bool = True
    group: tuple[str, ...] = ()


def rows_of_tables(tables: Mapping[str, Table], item: Record) -> dict[str, Sequence[Record]]:
    """Return a finished item's rows in every table that follows from items."""
    found: dict[str, Sequence[Record]] = {}
    for name, table in tables.items():
        if issubclass(table.row, FlatRow):
            found[name] = list(table.row.rows_of(item))
    return found


def _places(place: ItemPath, steps: Sequence[str]) -> Iterator[ItemPath]:
    if not steps:
        yield place
        return
    found: Any = getattr(place.record, steps[0])
    if isinstance(found, Mapping):
        found = [Entry(key, value) for key, value in found.items()]  # pyright: ignore[reportUnknownVariableType]
    for index, record in enumerate([found] if isinstance(found, Record) else found):
        yield from _places(ItemPath((*place.records, record), (*place.numbers, index)), steps[1:])


def _annotation(kind: Any, name: str) -> Any:
    """Return the type of a field or of a property. Raises AttributeError for a record without either."""
    if name in kind.model_fields:
        return kind.model_fields[name].annotation
    return get_type_hints(getattr(kind, name).fget)["return"]


def _kind_of_each(annotation: Any) -> Any:
    """Return the type of the record, or of each of several, that a step leads to."""
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return annotation
    several: Any = get_origin(annotation)
    return Entry if issubclass(several, Mapping) else get_args(annotation)[0]


def _without_constraints(annotation: Any) -> Any:
    """Return the type without constraints, which hold of the records that rows are made of."""
    if get_origin(annotation) is Annotated:
        return _without_constraints(get_args(annotation)[0])
    if get_origin(annotation) is tuple:
        return tuple[tuple(map(_without_constraints, get_args(annotation)))]
    return annotation


def _column_of_field(words: str, kinds: Sequence[Any]) -> TableColumn:
    """Return the column of a field of the innermost record that has it. Raises ValueError where none has."""
    name, _, path = words.partition("=")
    first, *rest = (path or name).split(".")
    for depth in range(len(kinds) - 1, -1, -1):
        if first in getattr(kinds[depth], "model_fields", {}):
            break
    else:
        raise ValueError(f"No record on the path has the field {first!r}.")
    field = kinds[depth].model_fields[first]
    for step in rest:
        field = field.annotation.model_fields[step]

    def value(place: ItemPath) -> object:
        found = place.records[depth]
        for step in (first, *rest):
            found = getattr(found, step)
        return found

    return TableColumn(name, _without_constraints(field.annotation), field.description or "", value)
