"""Expectations about the columns of released tables, those that follow from the classes of their rows included."""

import types
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union, cast, get_args, get_origin

from assets.engine.benchmark import Table
from assets.records.base import Record


@dataclass(frozen=True)
class ColumnExpectation:
    """An expectation of Great Expectations as plain data: its type, its options, and the sentence that it checks.

    `column` is "" for the table as a whole.
    """

    column: str
    statement: str
    type: str
    options: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def columns(self) -> frozenset[str]:
        """Return the columns whose values it reads."""
        columns = set(cast(list[str], self.options.get("column_list", [])))
        for name in ("column", "column_A", "column_B"):
            if name in self.options:
                columns.add(str(self.options[name]))
        return frozenset(columns)


def of_column(column: str, statement: str, expectation: str, **options: object) -> ColumnExpectation:
    return ColumnExpectation(column, statement, expectation, {"column": column, **options})


def never_missing(column: str) -> ColumnExpectation:
    return of_column(column, "is never missing", "expect_column_values_to_not_be_null")


# By type: its name in pandas, and the statement about a column of this type.
COLUMN_TYPES = {str: ("str", "is text"), int: ("int64", "is a whole number"), bool: ("bool", "is true or false")}


def of_type(column: str, kind: type) -> ColumnExpectation:
    """The column has text, whole numbers, or true and false."""
    name, statement = COLUMN_TYPES[kind]
    return of_column(column, statement, "expect_column_values_to_be_of_type", type_=name)


def among(column: str, values: Collection[object]) -> ColumnExpectation:
    names = ", ".join(map(str, values))
    statement = f"is {names}" if len(values) == 1 else f"is one of {names}"
    return of_column(column, statement, "expect_column_values_to_be_in_set", value_set=list(values))


def unique(*columns: str) -> ColumnExpectation:
    """No two rows agree in all of these columns."""
    statement = "tells the rows apart"
    if len(columns) == 1:
        return of_column(columns[0], statement, "expect_column_values_to_be_unique")
    options = {"column_list": list(columns)}
    return ColumnExpectation(", ".join(columns), statement, "expect_compound_columns_to_be_unique", options)


def columns_are(names: Collection[str], *, derived: Collection[str]) -> ColumnExpectation:
    """The table has exactly these columns, beside derived ones."""
    statement = f"has the {len(names)} columns {', '.join(names)}"
    options = {"column_set": [*names, *derived], "exact_match": True}
    return ColumnExpectation("", statement, "expect_table_columns_to_match_set", options)


def suite(table: Table, own: Sequence[ColumnExpectation] = ()) -> list[ColumnExpectation]:
    """Return all expectations of a table: its columns, its key, those of its rows' annotations, and its `own`."""
    fields = table.row.model_fields
    derived: list[str] = []
    for one in own:
        column = str(one.options.get("column", ""))
        if column and column not in fields and column not in derived:
            derived.append(column)
    return [columns_are(fields, derived=derived), unique(*table.key), *_of_annotations(table.row), *own]


def _of_annotations(row: type[Record]) -> Iterator[ColumnExpectation]:
    for name, annotated in row.model_fields.items():
        annotation: Any = annotated.annotation
        optional = get_origin(annotation) in (Union, types.UnionType) and type(None) in get_args(annotation)
        if not optional:
            yield never_missing(name)
        if annotation in (str, int, bool):
            yield of_type(name, annotation)
        elif get_origin(annotation) is Literal:
            yield among(name, get_args(annotation))
