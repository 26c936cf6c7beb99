"""Expectations about the columns of released tables, applied with Great Expectations.

The library is imported here only, when first needed: that takes two seconds and 140 MB. Suites and results are files of a
project of its own, which is made anew for each set, and its Data Docs show them. Nothing is sent anywhere.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

from assets.engine.benchmark import Benchmark
from assets.recipe.recipe import Recipe
from assets.records.base import Failure, Record
from assets.records.flat_tables import Table
from assets.records.report import ColumnLine
from validation.expectations.expectation import ColumnExpectation, suite
from validation.expectations.project import Suites, expectation_id, project_files, read_suite, release_project_files
from validation.rules import RecordsOfItem

# One validation takes more than half a second, however few rows there are.
ITEMS_AT_ONCE = 800
SAMPLE_SIZE = 5  # rows that break an expectation, to see a pattern
CELL_LIMIT = 120  # characters; a text of a whole document would fill the page
# Rows by table.
Tables = Mapping[str, Sequence[Record]]
DerivedColumns = Callable[[str, Any], Mapping[str, object]]


@dataclass(frozen=True)
class TableExpectations:
    """A benchmark's expectations of its tables, beside those that follow from the classes of their rows.

    Its suites are files of the repository's project; `parameters` returns the values that they leave open, by the recipe and
    the number of items. `derived_columns` gets rows that refer to each other and the ids of all released items, and returns
    a function of table and row. `item_rows` returns one finished item's rows in all tables; without it they are
    `Benchmark.rows`. `failure_rows` returns those of replaced items.
    """

    parameters: Callable[[Any, int], Mapping[str, object]] = lambda recipe, items: {}
    derived_columns: Callable[[Tables, frozenset[str]], DerivedColumns] = lambda tables, released: lambda table, row: {}
    item_rows: Callable[[RecordsOfItem], Tables] | None = None
    failure_rows: Callable[[Sequence[Failure], frozenset[str]], Tables] = lambda failures, released: {}

    def suites(self, benchmark: Benchmark, recipe: Recipe, *, items: int) -> dict[str, list[ColumnExpectation]]:
        """Return all expectations of each table of a set. Raises SuiteError."""
        own = self._own(benchmark, recipe, items)
        return {name: suite(table, own[name]) for name, table in benchmark.tables.items()}

    def release_project(self, benchmark: Benchmark, recipe: Recipe, *, items: int, tables: str) -> dict[str, bytes]:
        """Return the project that checks a release's files in the folder `tables`: bytes by path. Raises SuiteError."""
        return release_project_files(benchmark.tables, self._own(benchmark, recipe, items), folder=tables)

    def _own(self, benchmark: Benchmark, recipe: Recipe, items: int) -> Suites:
        parameters = self.parameters(recipe, items)
        return {name: read_suite(benchmark.name, name, parameters) for name in benchmark.tables}


class ExpectationRun:
    """Apply every expectation to a set of which `items_at_once` items are in memory at a time.

    Expectations hold of a set when they hold of its parts. An item that is in two parts is the exception; a rule of the last
    stage reports it. `failed`: ids of the items that were replaced. `project`: the folder of suites, results and Data Docs,
    which replaces what is there.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        expectations: TableExpectations,
        recipe: Recipe,
        *,
        project: Path,
        failed: Collection[str] = (),
        items_at_once: int = ITEMS_AT_ONCE,
    ) -> None:
        self._benchmark = benchmark
        self._expectations = expectations
        self._recipe = recipe
        self._project = project
        self._failed = frozenset(failed)
        self._at_once = items_at_once
        self._items = 0
        self._waiting = 0
        self._failed_and_finished: set[str] = set()
        self._columns = TableColumns(benchmark.tables, expectations)
        self._lines: dict[tuple[str, int], ColumnLine] = {}
        self._portions = 0

    def add(self, records: RecordsOfItem) -> None:
        """Take the next item."""
        item = records[self._benchmark.final.name]
        if self._waiting == self._at_once:
            self._validate()
        self._waiting += 1
        if item.item_id in self._failed:
            self._failed_and_finished.add(item.item_id)
        if self._expectations.item_rows is None:
            rows: Tables = self._benchmark.rows(item)
        else:
            rows = self._expectations.item_rows(records)
        self._columns.add(rows, released=frozenset({item.item_id}))

    def lines(self, failures: Iterable[Failure] = ()) -> list[ColumnLine]:
        """Return a line for each expectation, once all items were added."""
        if not self._benchmark.tables:
            return []
        released = frozenset(self._failed_and_finished)
        replaced = list(failures)
        for start in range(0, len(replaced), self._at_once):
            batch = replaced[start : start + self._at_once]
            self._columns.add(self._expectations.failure_rows(batch, released), released=released)
            if len(batch) == self._at_once:
                self._validate()
        # Tables without rows are validated too: a set of none would otherwise have no lines.
        if self._columns.rows or not self._lines:
            self._validate()
        with _open_project(self._project) as context:
            context.build_data_docs()
        # Statements name the number of items, which is only known now.
        suites = self._expectations.suites(self._benchmark, self._recipe, items=self._items)
        expectations = chain.from_iterable(suites.values())
        lines: list[ColumnLine] = []
        for expectation, line in zip(expectations, self._lines.values(), strict=True):
            lines.append(line.model_copy(update={"expectation": expectation.statement}))
        return lines

    def _validate(self) -> None:
        columns = self._columns
        self._columns = TableColumns(self._benchmark.tables, self._expectations)
        suites = self._expectations.suites(self._benchmark, self._recipe, items=self._waiting)
        self._items += self._waiting
        self._waiting = 0
        self._portions += 1
        # Results of an earlier report would stand beside those of this one.
        if self._portions == 1:
            shutil.rmtree(self._project, ignore_errors=True)
        counts = Counter[str]()
        for line in validate_columns(columns, suites, self._benchmark.tables, project=self._project):
            key = (line.table, counts[line.table])
            counts[line.table] += 1
            self._lines[key] = _sum(self._lines[key], line) if key in self._lines else line


class TableColumns:
    """All tables of some items by column, derived columns among them."""

    def __init__(self, tables: Iterable[str], expectations: TableExpectations) -> None:
        self.tables: dict[str, dict[str, list[Any]]] = {name: {} for name in tables}
        self.counts = Counter[str]()
        self._expectations = expectations

    @property
    def rows(self) -> int:
        return self.counts.total()

    def add(self, tables: Tables, *, released: frozenset[str]) -> None:
        """Add rows that refer to each other."""
        derive = self._expectations.derived_columns(tables, released)
        for name, rows in tables.items():
            columns = self.tables[name]
            before = self.counts[name]
            for number, row in enumerate(rows, start=before):
                for column, value in chain(row.__dict__.items(), _derive_columns(derive, name, row).items()):
                    values = columns.setdefault(column, [])
                    values.extend([None] * (number - len(values)))
                    # A mapping only has to be present, so True stands for it; mappings would take most of the memory.
                    values.append(True if isinstance(value, dict) else value)
            self.counts[name] = before + len(rows)
            for values in columns.values():
                values.extend([None] * (self.counts[name] - len(values)))


def _derive_columns(derive: DerivedColumns, table: str, row: Record) -> Mapping[str, object]:
    try:
        return derive(table, row)
    except TypeError:
        # A value is missing or of another type, which breaks the expectations about its own column.
        return {}


def validate_columns(columns: TableColumns, suites: Suites, tables: Mapping[str, Table], *, project: Path) -> list[ColumnLine]:
    """Validate one table after the other and free each, because validating copies it."""
    lines: list[ColumnLine] = []
    for path, content in project_files(suites).items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_bytes(content)
    with _open_project(project) as context:
        for name, expectations in suites.items():
            values = columns.tables.pop(name)
            if columns.counts[name]:
                lines.extend(_table_lines(context, name, expectations, columns=values, key=tables[name].key))
            else:
                lines.extend(map(partial(_line_of_no_rows, name), expectations))
    return lines


@contextmanager
def _open_project(project: Path) -> Generator[Any, None, None]:
    import great_expectations
    from great_expectations.data_context.data_context.context_factory import set_context

    # Its annotations are only partly known to type checkers.
    gx: Any = great_expectations
    try:
        yield gx.get_context(mode="file", context_root_dir=str(project))
    finally:
        set_context(None)  # otherwise context and tables stay in memory until the next one comes


def _table_lines(
    context: Any, table: str, expectations: Sequence[ColumnExpectation], *, columns: Mapping[str, list[Any]], key: Sequence[str]
) -> Iterator[ColumnLine]:
    import pandas as pd  # comes with Great Expectations
    from great_expectations import RunIdentifier

    definition = context.validation_definitions.get(table)
    asked = {"batch_parameters": {"dataframe": pd.DataFrame(columns)}, "run_id": RunIdentifier()}
    validation = definition.run(result_format="BASIC", **asked)
    if not validation.success:
        # Which rows contradict takes longer. Under the same id, the result takes the place of the first one.
        details = {
            "result_format": "SUMMARY",
            "partial_unexpected_count": SAMPLE_SIZE,
            "unexpected_index_column_names": list(key),
        }
        validation = definition.run(result_format=details, **asked)
    # Expectations that could not be computed come first, whatever their place in the suite.
    results = {result.expectation_config.id: result for result in validation.results}
    rows = len(next(iter(columns.values())))
    for number, expectation in enumerate(expectations):
        yield _line(table, expectation, results[expectation_id(table, number)], rows=rows)


def _line(table: str, expectation: ColumnExpectation, outcome: Any, *, rows: int) -> ColumnLine:
    line = ColumnLine(table=table, column=expectation.column, expectation=expectation.statement, rows=rows, unexpected=0)
    if outcome.success:
        return line
    result = outcome.result
    if "unexpected_count" not in result:
        observed = f"found {result['observed_value']}" if "observed_value" in result else "could not be computed on these rows"
        return line.model_copy(update={"unexpected": rows, "sample": (observed[:CELL_LIMIT],)})
    examples: list[dict[str, object]] = result.get("partial_unexpected_index_list") or []
    sample: list[str] = []
    for row in examples[:SAMPLE_SIZE]:
        sample.append(", ".join([f"{name}: {str(value)[:CELL_LIMIT]}" for name, value in row.items()]))
    return line.model_copy(update={"unexpected": result["unexpected_count"], "sample": tuple(sample)})


def _line_of_no_rows(table: str, expectation: ColumnExpectation) -> ColumnLine:
    wanted = int(str(expectation.options.get("value", 0)))
    sample = ("found 0",) if wanted else ()
    line = ColumnLine(table=table, column=expectation.column, expectation=expectation.statement, rows=0, unexpected=wanted)
    return line.model_copy(update={"sample": sample})


def _sum(one: ColumnLine, other: ColumnLine) -> ColumnLine:
    sample = (*one.sample, *other.sample)[:SAMPLE_SIZE]
    counts = {"rows": one.rows + other.rows, "unexpected": one.unexpected + other.unexpected}
    return one.model_copy(update={**counts, "sample": sample})
