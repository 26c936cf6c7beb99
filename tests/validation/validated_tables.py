"""A few rows of tables, validated at once."""

from pathlib import Path

from assets.engine.benchmark import Benchmark
from assets.records.report import ColumnLine
from validation.expectations.project import Suites
from validation.expectations.validate import TableColumns, TableExpectations, Tables, validate_columns


def validate_tables(
    rows: Tables,
    suites: Suites,
    benchmark: Benchmark,
    expectations: TableExpectations,
    *,
    released: frozenset[str],
    project: Path,
) -> list[ColumnLine]:
    """Return a line for each expectation of the suites. `released`: ids of all items of the set. `project`: for results."""
    columns = TableColumns(benchmark.tables, expectations)
    columns.add(rows, released=released)
    return validate_columns(columns, suites, benchmark.tables, project=project)
