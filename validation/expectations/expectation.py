"""Expectations about the columns of released tables, and what the classes of a table's rows say of its columns."""

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
        """The columns whose values it reads."""
        single = {str(self.options[name]) for name in ("column", "column_A", "column_B") if name in self.options}
        return frozenset(single | set(cast(list[str], self.options.get("column_list", []))))


def of_column(column: str, statement: str, expectation: str, **options: object) -> ColumnExpectation:
    return ColumnExpectation(column, statement, expectation, {"column": column, **options})


def never_missing(column: str) -> ColumnExpectation:
    return of_column(column, "is never missing", "expect_column_values_to_not_be_null")


def of_type(column: str, kind: type) -> ColumnExpectation:
    """The column has text, whole numbers, or true and false."""
    name, words = {str: ("str", "is text"), int: ("int64", "is a whole number"), bool: ("bool", "is true or false")}[kind]
    return of_column(column, words, "expect_column_values_to_be_of_type", type_=name)


def among(column: str, values: Collection[object]) -> ColumnExpectation:
    names = ", ".join(str(value) for value in values)
    return of_column(
        column,
        f"is {names}" if len(values) == 1 else f"is one of {names}",
        "expect_column_values_to_be_in_set",
        value_set=list(values),
    )


def unique(*columns: str) -> ColumnExpectation:
    """No two rows agree in all of these columns."""
    words, name = "tells the rows apart", "expect_compound_columns_to_be_unique"
    if len(columns) == 1:
        return of_column(columns[0], words, "expect_column_values_to_be_unique")
    return ColumnExpectation(", ".join(columns), words, name, {"column_list": list(columns)})


def columns_are(names: Collection[str], *, derived: Collection[str]) -> ColumnExpectation:
    """The table has exactly these columns, beside derived ones."""
    words, kind = f"has the {len(names)} columns {', '.join(names)}", "expect_table_columns_to_match_set"
    return ColumnExpectation("", words, kind, {"column_set": [*names, *derived], "exact_match": True})


def suite(table: Table, own: Sequence[ColumnExpectation] = ()) -> list[ColumnExpectation]:
    """All expectations of a table: its columns, its key, what the annotations of its rows say, and its `own`."""
    fields = table.row.model_fields
    columns = dict.fromkeys(str(one.options["column"]) for one in own if "column" in one.options)
    derived = [column for column in columns if column not in fields]
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
