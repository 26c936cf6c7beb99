"""Expectations about the columns of released tables, those that follow from the classes of their rows included."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, cast, get_args, get_origin

from assets.records.base import Record
from assets.records.flat_tables import Table


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
    """Return all expectations of a table: its columns, its key, the values that its rows' annotations name, and its `own`."""
    fields = table.row.model_fields
    derived: list[str] = []
    for expectation in own:
        column = str(expectation.options.get("column", ""))
        if column and column not in fields and column not in derived:
            derived.append(column)
    return [columns_are(fields, derived=derived), unique(*table.key), *_named_values(table.row), *own]


def _named_values(row: type[Record]) -> Iterator[ColumnExpectation]:
    """Of the annotations, these only: that no value is missing and each has its type, the rows' class sees to itself."""
    for name, annotated in row.model_fields.items():
        if get_origin(annotated.annotation) is Literal:
            yield among(name, get_args(annotated.annotation))
