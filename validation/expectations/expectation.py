"""Expectations about columns of released tables: a sentence each, and the expectation of Great Expectations that checks it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime

UNREADABLE = "[\ufffd\\x00-\\x08\\x0b\\x0c\\x0e-\\x1f]"


@dataclass(frozen=True)
class ColumnExpectation:
    """`column` is "" for the table as a whole. Plain data: Great Expectations is imported only where it is applied."""

    column: str
    statement: str
    type: str
    options: Mapping[str, object] = field(default_factory=dict[str, object])


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


def between(column: str, least: int, most: int | None = None) -> ColumnExpectation:
    """Every number lies within the bounds, both included."""
    words = f"is {least} or more" if most is None else f"is {least}" if least == most else f"is {least} to {most}"
    return of_column(column, words, "expect_column_values_to_be_between", min_value=least, max_value=most)


def true(column: str) -> ColumnExpectation:
    """A derived column, whose name is the sentence, is true in every row."""
    return of_column(column, "holds", "expect_column_values_to_be_in_set", value_set=[True])


def written(column: str) -> list[ColumnExpectation]:
    """Every text has words, and no character that shows a broken encoding."""
    return [
        of_column(column, "is not blank", "expect_column_values_to_not_match_regex", regex=r"^\s*$"),
        of_column(column, "has no unreadable character", "expect_column_values_to_not_match_regex", regex=UNREADABLE),
    ]


def matches(column: str, pattern: str, words: str) -> ColumnExpectation:
    """Every text matches a regular expression; `words` say what that means."""
    return of_column(column, words, "expect_column_values_to_match_regex", regex=pattern)


def iso_time(column: str, kind: type[date] | type[datetime]) -> ColumnExpectation:
    """Every text is a day, or a time of a day, in ISO's form."""
    form = "%Y-%m-%d %H:%M:%S" if kind is datetime else "%Y-%m-%d"
    words = "is a time as YYYY-MM-DD HH:MM:SS" if kind is datetime else "is a day as YYYY-MM-DD"
    return of_column(column, words, "expect_column_values_to_match_strftime_format", strftime_format=form)


def later(column: str, earlier: str) -> ColumnExpectation:
    """The column lies after another one, where both have a value."""
    return ColumnExpectation(
        column,
        f"lies after {earlier}",
        "expect_column_pair_values_a_to_be_greater_than_b",
        {"column_A": column, "column_B": earlier, "ignore_row_if": "either_value_is_missing"},
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


def rows_are(count: int, words: str) -> ColumnExpectation:
    return ColumnExpectation("", f"has {words}, {count} in all", "expect_table_row_count_to_equal", {"value": count})
