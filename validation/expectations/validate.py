"""Expectations about the columns of released tables, applied with Great Expectations.

The library is imported here only, when first needed: that takes 4 seconds and 260 MB. Its context is ephemeral: nothing is
read from or written to disk, and nothing is sent anywhere.
"""

import types
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Any, Literal, Union, get_args, get_origin

from assets.engine.benchmark import Benchmark, Table
from assets.engine.gc_control import freeze_gc
from assets.recipe.recipe import Recipe
from assets.records.base import Failure, Record
from assets.records.report import ColumnLine
from validation.expectations.expectation import (
    ColumnExpectation,
    among,
    columns_are,
    never_missing,
    of_type,
    unique,
)
from validation.rules import RecordsByStage

# One validation takes more than half a second, however few rows there are.
ITEMS_AT_ONCE = 800
SAMPLE_SIZE = 5
CELL_LIMIT = 120
# Rows by table.
Tables = Mapping[str, Sequence[Record]]
DerivedColumns = Callable[[str, Any], Mapping[str, object]]


def no_derived_columns(_: Tables, __: frozenset[str]) -> DerivedColumns:
    return lambda table, row: {}


def no_failure_rows(_: Sequence[Failure], __: frozenset[str]) -> Tables:
    return {}


@dataclass(frozen=True)
class TableExpectations:
    """What a benchmark expects of its tables beside what follows from the classes of their rows.

    `own` makes a table's expectations from the recipe and the number of items. `derived_columns` gets rows that refer to
    each other and the ids of all released items, and returns a function of table and row. `item_rows` gives one finished
    item's rows in all tables; without it they are `Benchmark.rows`. `failure_rows` gives those of replaced items.
    """

    own: Mapping[str, Callable[[Any, int], list[ColumnExpectation]]] = field(default_factory=dict[str, Any])
    derived_columns: Callable[[Tables, frozenset[str]], DerivedColumns] = no_derived_columns
    item_rows: Callable[[RecordsByStage, str], Tables] | None = None
    failure_rows: Callable[[Sequence[Failure], frozenset[str]], Tables] = no_failure_rows


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


class ExpectationRun:
    """Applies every expectation to a set of which `items_at_once` items are in memory at a time.

    Expectations hold of a set when they hold of its parts. An item that is in two parts is the exception; a rule of the last
    stage reports it. `failed`: ids of the items that were replaced.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        expectations: TableExpectations,
        recipe: Recipe,
        *,
        failed: Collection[str] = (),
        items_at_once: int = ITEMS_AT_ONCE,
    ) -> None:
        self._benchmark, self._expectations, self._recipe = benchmark, expectations, recipe
        self._failed, self._at_once = frozenset(failed), items_at_once
        self._items = self._waiting = 0
        self._failed_and_finished: set[str] = set()
        self._columns = _Columns(benchmark.tables, expectations)
        self._lines: dict[tuple[str, int], ColumnLine] = {}

    def add(self, records: RecordsByStage, item_id: str) -> None:
        """Take the next item; `records` by stage and item."""
        if self._waiting == self._at_once:
            self._validate()
        self._waiting += 1
        self._failed_and_finished |= {item_id} & self._failed
        if self._expectations.item_rows is None:
            rows: Tables = self._benchmark.rows(records[self._benchmark.final.name][item_id])
        else:
            rows = self._expectations.item_rows(records, item_id)
        self._columns.add(rows, released=frozenset({item_id}))

    def lines(self, failures: Iterable[Failure] = ()) -> list[ColumnLine]:
        """What each expectation came to, once all items were added."""
        if not self._benchmark.tables:
            return []
        rest = iter(failures)
        while batch := list(islice(rest, self._at_once)):
            released = frozenset(self._failed_and_finished)
            self._columns.add(self._expectations.failure_rows(batch, released), released=released)
            if len(batch) == self._at_once:
                self._validate()
        if self._columns.rows or not self._lines:
            self._validate()
        # Statements name the number of items, which is only known now.
        statements = [one.statement for own in self._suites(self._items).values() for one in own]
        lines = zip(statements, self._lines.values(), strict=True)
        return [line.model_copy(update={"promise": statement}) for statement, line in lines]

    def _validate(self) -> None:
        items, self._waiting = self._waiting, 0
        columns, self._columns = self._columns, _Columns(self._benchmark.tables, self._expectations)
        self._items += items
        counts = Counter[str]()
        with freeze_gc():  # a validation leaves many reference cycles behind
            for line in _validated(columns, self._suites(items), self._benchmark.tables):
                key = (line.table, counts[line.table])
                counts[line.table] += 1
                self._lines[key] = _sum(self._lines[key], line) if key in self._lines else line

    def _suites(self, items: int) -> dict[str, list[ColumnExpectation]]:
        own = self._expectations.own
        return {
            name: suite(table, own[name](self._recipe, items) if name in own else ())
            for name, table in self._benchmark.tables.items()
        }


def validate_tables(
    rows: Tables,
    suites: Mapping[str, Sequence[ColumnExpectation]],
    benchmark: Benchmark,
    expectations: TableExpectations,
    *,
    released: frozenset[str],
) -> list[ColumnLine]:
    """What every expectation in the suites came to. `released`: ids of all items of the set."""
    columns = _Columns(benchmark.tables, expectations)
    columns.add(rows, released=released)
    return _validated(columns, suites, benchmark.tables)


class _Columns:
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
            columns, before = self.tables[name], self.counts[name]
            for number, row in enumerate(rows, start=before):
                for column, value in chain(row.__dict__.items(), _derived(derive, name, row).items()):
                    values = columns.setdefault(column, [])
                    values.extend([None] * (number - len(values)))
                    # A mapping only has to be present, so True stands for it; mappings would take most of the memory.
                    values.append(True if isinstance(value, dict) else value)
            self.counts[name] = before + len(rows)
            for values in columns.values():
                values.extend([None] * (self.counts[name] - len(values)))


def _derived(derive: DerivedColumns, table: str, row: Record) -> Mapping[str, object]:
    try:
        return derive(table, row)
    except TypeError:
        # A value is missing, or of another type, which the expectations about its own column say.
        return {}


def _validated(
    columns: _Columns, suites: Mapping[str, Sequence[ColumnExpectation]], tables: Mapping[str, Table]
) -> list[ColumnLine]:
    """Validate one table after the other and free each, because validating copies it."""
    lines: list[ColumnLine] = []
    with _context() as context:
        for name, expectations in suites.items():
            values, rows = columns.tables.pop(name), columns.counts[name]
            if rows:
                batch = _batch(context, name, values)
                lines.extend(_validated_table(batch, name, expectations, rows=rows, key=tables[name].key))
            else:
                lines.extend(_line_of_no_rows(name, one) for one in expectations)
    return lines


@contextmanager
def _context() -> Generator[Any, None, None]:
    import great_expectations
    from great_expectations.data_context.data_context import context_factory
    from great_expectations.data_context.types import base

    # Its annotations are only partly known to type checkers.
    gx: Any = great_expectations

    # Without its own defaults it would name a folder for pages, and print a bar for every suite.
    config = base.DataContextConfig(
        store_backend_defaults=base.InMemoryStoreBackendDefaults(init_temp_docs_sites=False),
        progress_bars=base.ProgressBarsConfig(globally=False),
        analytics_enabled=False,
    )
    context = gx.get_context(mode="ephemeral", project_config=config)
    context.data_sources.add_pandas("tables")
    try:
        yield context
    finally:
        context_factory.set_context(None)  # otherwise context and tables stay in memory until the next one comes


def _batch(context: Any, table: str, columns: Mapping[str, list[Any]]) -> Any:
    import pandas as pd  # comes with Great Expectations

    asset = context.data_sources.get("tables").add_dataframe_asset(table)
    return asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": pd.DataFrame(columns)})


def _validated_table(
    batch: Any, table: str, expectations: Sequence[ColumnExpectation], *, rows: int, key: Sequence[str]
) -> list[ColumnLine]:
    """Ask first only whether each expectation holds; the rows that contradict it take longer, and are asked of broken ones."""
    details = {
        "result_format": "SUMMARY",
        "partial_unexpected_count": SAMPLE_SIZE,
        "unexpected_index_column_names": list(key),
    }
    all_results = _results(batch, table, dict(enumerate(expectations)), form="BOOLEAN_ONLY")
    broken = {number: one for number, one in enumerate(expectations) if not all_results[number].success}
    results = _results(batch, table, broken, form=details) if broken else {}
    return [_line(table, one, results.get(number), rows=rows) for number, one in enumerate(expectations)]


def _results(batch: Any, table: str, expectations: Mapping[int, ColumnExpectation], *, form: object) -> dict[int, Any]:
    """Great Expectations' results by the expectations' numbers."""
    from great_expectations import ExpectationSuite
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    configurations = [
        ExpectationConfiguration(type=one.type, kwargs=dict(one.options), meta={"number": number})
        for number, one in expectations.items()
    ]
    validation: Any = batch.validate(ExpectationSuite(name=table, expectations=configurations), result_format=form)
    # Expectations that could not be computed come first, whatever their place in the suite.
    return {result.expectation_config.meta["number"]: result for result in validation.results}


def _line(table: str, expectation: ColumnExpectation, broken: Any, *, rows: int) -> ColumnLine:
    line = ColumnLine(table=table, column=expectation.column, promise=expectation.statement, rows=rows, unexpected=0)
    if broken is None:
        return line
    result = broken.result
    if "unexpected_count" not in result:
        observed = f"found {result['observed_value']}" if "observed_value" in result else "could not be computed on these rows"
        return line.model_copy(update={"unexpected": rows, "sample": (observed[:CELL_LIMIT],)})
    examples: list[dict[str, object]] = result.get("partial_unexpected_index_list") or []
    sample = tuple(
        ", ".join(f"{name}: {str(value)[:CELL_LIMIT]}" for name, value in row.items()) for row in examples[:SAMPLE_SIZE]
    )
    return line.model_copy(update={"unexpected": result["unexpected_count"], "sample": sample})


def _line_of_no_rows(table: str, expectation: ColumnExpectation) -> ColumnLine:
    wanted = int(str(expectation.options.get("value", 0)))
    sample = ("found 0",) if wanted else ()
    return ColumnLine(
        table=table, column=expectation.column, promise=expectation.statement, rows=0, unexpected=wanted, sample=sample
    )


def _sum(one: ColumnLine, other: ColumnLine) -> ColumnLine:
    return one.model_copy(
        update={
            "rows": one.rows + other.rows,
            "unexpected": one.unexpected + other.unexpected,
            "sample": (*one.sample, *other.sample)[:SAMPLE_SIZE],
        }
    )
