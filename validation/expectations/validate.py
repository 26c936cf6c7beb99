"""Expectations about the columns of released tables, applied with Great Expectations.

The library is imported here only, when first needed: that takes two seconds and 140 MB. Suites and results are files of a
project of its own, which is made anew for each set, and its Data Docs show them. Nothing is sent anywhere.
"""

import shutil
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from itertools import chain, islice
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json

from assets.engine.benchmark import Benchmark, Table
from assets.engine.gc_control import freeze_gc, pause_gc
from assets.recipe.recipe import Recipe
from assets.records.base import Failure, Record
from assets.records.report import ColumnLine
from validation.expectations.expectation import ColumnExpectation, suite
from validation.expectations.project import (
    DATA_DOCS,
    Suites,
    expectation_id,
    project_files,
    read_suite,
    release_project_files,
)
from validation.rules import RecordsByStage

# One validation takes more than half a second, however few rows there are.
ITEMS_AT_ONCE = 800
SAMPLE_SIZE = 5
CELL_LIMIT = 120
# Rows by table.
Tables = Mapping[str, Sequence[Record]]
DerivedColumns = Callable[[str, Any], Mapping[str, object]]


def no_parameters(_: Any, __: int) -> Mapping[str, object]:
    return {}


def no_derived_columns(_: Tables, __: frozenset[str]) -> DerivedColumns:
    return lambda table, row: {}


def no_failure_rows(_: Sequence[Failure], __: frozenset[str]) -> Tables:
    return {}


@dataclass(frozen=True)
class TableExpectations:
    """What a benchmark expects of its tables beside what follows from the classes of their rows.

    Its suites are files of the repository's project; `parameters` gives the values that they leave open, by the recipe and
    the number of items. `derived_columns` gets rows that refer to each other and the ids of all released items, and returns
    a function of table and row. `item_rows` gives one finished item's rows in all tables; without it they are
    `Benchmark.rows`. `failure_rows` gives those of replaced items.
    """

    parameters: Callable[[Any, int], Mapping[str, object]] = no_parameters
    derived_columns: Callable[[Tables, frozenset[str]], DerivedColumns] = no_derived_columns
    item_rows: Callable[[RecordsByStage, str], Tables] | None = None
    failure_rows: Callable[[Sequence[Failure], frozenset[str]], Tables] = no_failure_rows

    def suites(self, benchmark: Benchmark, recipe: Recipe, *, items: int) -> dict[str, list[ColumnExpectation]]:
        """All that is expected of each table of a set. Raises SuiteError."""
        own = self._own(benchmark, recipe, items)
        return {name: suite(table, own[name]) for name, table in benchmark.tables.items()}

    def release_project(self, benchmark: Benchmark, recipe: Recipe, *, items: int, tables: str) -> dict[str, bytes]:
        """The project that checks a release's files in the folder `tables`: bytes by path. Raises SuiteError."""
        return release_project_files(benchmark.tables, self._own(benchmark, recipe, items), folder=tables)

    def _own(self, benchmark: Benchmark, recipe: Recipe, items: int) -> Suites:
        parameters = self.parameters(recipe, items)
        return {name: read_suite(benchmark.name, name, parameters) for name in benchmark.tables}


class ExpectationRun:
    """Applies every expectation to a set of which `items_at_once` items are in memory at a time.

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
        self._benchmark, self._expectations, self._recipe, self._project = benchmark, expectations, recipe, project
        self._failed, self._at_once = frozenset(failed), items_at_once
        self._items = self._waiting = 0
        self._failed_and_finished: set[str] = set()
        self._columns = _Columns(benchmark.tables, expectations)
        self._lines: dict[tuple[str, int], ColumnLine] = {}
        self._last = LastValidation(project)
        self._portions = 0

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
        if not self._last.still_holds:
            with freeze_gc(), _opened(self._project) as context:
                context.build_data_docs()
            self._last.note(list(self._lines.values()), portions=self._portions)
        # Statements name the number of items, which is only known now.
        suites = self._expectations.suites(self._benchmark, self._recipe, items=self._items)
        statements = [one.statement for own in suites.values() for one in own]
        lines = zip(statements, self._lines.values(), strict=True)
        return [line.model_copy(update={"promise": statement}) for statement, line in lines]

    def _validate(self) -> None:
        items, self._waiting = self._waiting, 0
        columns, self._columns = self._columns, _Columns(self._benchmark.tables, self._expectations)
        self._items += items
        self._portions += 1
        suites = self._expectations.suites(self._benchmark, self._recipe, items=items)
        known = self._last.lines(columns.digest(suites)) if self._portions == 1 else None
        if known is None:
            known = self._validated(columns, suites)
        counts = Counter[str]()
        for line in known:
            key = (line.table, counts[line.table])
            counts[line.table] += 1
            self._lines[key] = _sum(self._lines[key], line) if key in self._lines else line

    def _validated(self, columns: "_Columns", suites: Suites) -> list[ColumnLine]:
        if self._portions == 1:
            shutil.rmtree(self._project, ignore_errors=True)
        self._last.still_holds = False
        with freeze_gc():  # a validation leaves many reference cycles behind
            return _validated(columns, suites, self._benchmark.tables, project=self._project)


class LastValidation:
    """What a project's last validation came to, so that the same columns under the same suites need no other.

    A rerun whose replies are all cached spends almost half of its time on it. Only what was validated at once is noted.
    """

    def __init__(self, project: Path) -> None:
        self.still_holds = False
        self._path, self._docs = project / "uncommitted" / "last_validation.json", project / DATA_DOCS
        self._digest = ""

    def lines(self, digest: str) -> list[ColumnLine] | None:
        """The lines of columns and suites with this digest, if they were the last, and their Data Docs are there."""
        self._digest = digest
        if not self._docs.exists():
            return None
        try:
            noted = _Noted.model_validate_json(self._path.read_bytes())
        except (OSError, ValidationError):
            return None
        self.still_holds = noted.digest == digest
        return list(noted.lines) if self.still_holds else None

    def note(self, lines: Sequence[ColumnLine], *, portions: int) -> None:
        if portions == 1:
            self._path.write_text(_Noted(digest=self._digest, lines=tuple(lines)).model_dump_json(), encoding="utf-8")


class _Noted(Record):
    digest: str
    lines: tuple[ColumnLine, ...]


def validate_tables(
    rows: Tables,
    suites: Suites,
    benchmark: Benchmark,
    expectations: TableExpectations,
    *,
    released: frozenset[str],
    project: Path,
) -> list[ColumnLine]:
    """What every expectation in the suites came to. `released`: ids of all items of the set. `project`: where results go."""
    columns = _Columns(benchmark.tables, expectations)
    columns.add(rows, released=released)
    return _validated(columns, suites, benchmark.tables, project=project)


class _Columns:
    """All tables of some items by column, derived columns among them."""

    def __init__(self, tables: Iterable[str], expectations: TableExpectations) -> None:
        self.tables: dict[str, dict[str, list[Any]]] = {name: {} for name in tables}
        self.counts = Counter[str]()
        self._expectations = expectations

    @property
    def rows(self) -> int:
        return self.counts.total()

    def digest(self, suites: Suites) -> str:
        """Differs when the columns, the suites, the library or this module do."""
        digest = sha256(Path(__file__).read_bytes())
        digest.update(version("great-expectations").encode())
        for content in (suites, self.counts, self.tables):
            digest.update(to_json(content))
        return digest.hexdigest()

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


def _validated(columns: _Columns, suites: Suites, tables: Mapping[str, Table], *, project: Path) -> list[ColumnLine]:
    """Validate one table after the other and free each, because validating copies it."""
    lines: list[ColumnLine] = []
    for path, content in project_files(suites).items():
        (project / path).parent.mkdir(parents=True, exist_ok=True)
        (project / path).write_bytes(content)
    with _opened(project) as context:
        for name, expectations in suites.items():
            values, rows = columns.tables.pop(name), columns.counts[name]
            if rows:
                lines.extend(_validated_table(context, name, expectations, columns=values, key=tables[name].key))
            else:
                lines.extend(_line_of_no_rows(name, one) for one in expectations)
    return lines


@contextmanager
def _opened(project: Path) -> Generator[Any, None, None]:
    with pause_gc():  # it would search through what is being imported, which takes a quarter of the time
        import great_expectations
        from great_expectations.data_context.data_context.context_factory import set_context

    # Its annotations are only partly known to type checkers.
    gx: Any = great_expectations
    try:
        yield gx.get_context(mode="file", context_root_dir=str(project))
    finally:
        set_context(None)  # otherwise context and tables stay in memory until the next one comes


def _validated_table(
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
    for number, one in enumerate(expectations):
        yield _line(table, one, results[expectation_id(table, number)], rows=rows)


def _line(table: str, expectation: ColumnExpectation, outcome: Any, *, rows: int) -> ColumnLine:
    line = ColumnLine(table=table, column=expectation.column, promise=expectation.statement, rows=rows, unexpected=0)
    if outcome.success:
        return line
    result = outcome.result
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
