"""Apply the tables' suites with Great Expectations, which is imported here only, when first needed (5 s, 260 MB).

Its context is ephemeral: nothing is read from or written to disk, and nothing is sent anywhere.
"""

from collections import Counter
from collections.abc import Collection, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import Any

from assets.amemgym.records.rows import KEYS, TABLES, GateRecordRow, TableName
from assets.engine.gc_control import all_there_spared
from assets.recipe.recipe import Recipe
from assets.records.columnar import columns_of
from assets.records.common_tables import gate_record_columns
from assets.records.failure import Failure
from assets.records.report import ColumnLine
from validation.amemgym.report.finished_users import FinishedUser
from validation.amemgym.tables.derived_columns import Tables
from validation.amemgym.tables.suites import suite
from validation.expectations.expectation import Promise
from validation.expectations.release_tables import Gathered, TableColumns, released_rows

# A look takes more than half a second, however few rows there are.
USERS_AT_ONCE = 800
SAMPLE_SIZE = 5
CELL_LIMIT = 120


class ColumnLook:
    """Looks at every promise of every table while the finished users pass by.

    Works on `users_at_once` users: the promises hold of a set when they hold of its parts, but for a user who is in two
    parts, of whom a rule of the episodes tells. `failed`: the users who were replaced.
    """

    def __init__(self, recipe: Recipe, *, failed: Collection[str] = (), users_at_once: int = USERS_AT_ONCE) -> None:
        self._recipe, self._failed, self._at_once = recipe, frozenset(failed), users_at_once
        self._users = self._waiting = 0
        self._also_finished: set[str] = set()
        self._gathered = Gathered()
        self._found: dict[tuple[str, int], ColumnLine] = {}

    def add(self, user: FinishedUser) -> None:
        """Take the next user of the set."""
        if self._waiting == self._at_once:
            self._look()
        self._waiting += 1
        user_id = user.episode.user_id
        self._also_finished |= {user_id} & self._failed
        released = frozenset({user_id})
        votes = gate_record_columns([(user_id, user.votes)], (), released=released)
        self._gathered.add(released_rows([user.episode], ()), votes, released=released)

    def lines(self, failures: Iterable[Failure] = ()) -> list[ColumnLine]:
        """What became of the promises, once all users have passed."""
        left = iter(failures)
        while more := list(islice(left, self._at_once)):
            released = frozenset(self._also_finished)
            votes = gate_record_columns((), more, released=released)
            self._gathered.add(released_rows((), more), votes, released=released)
            if len(more) == self._at_once:
                self._look()
        if self._gathered.rows or not self._found:
            self._look()
        words = [promise.words for promises in self._suites(self._users).values() for promise in promises]
        return [line.model_copy(update={"promise": told}) for told, line in zip(words, self._found.values(), strict=True)]

    def _look(self) -> None:
        users, self._waiting, gathered, self._gathered = self._waiting, 0, self._gathered, Gathered()
        self._users += users
        counts = Counter[str]()
        with all_there_spared():  # a look leaves many cycles behind
            for line in _looked_at(gathered, self._suites(users)):
                key = (line.table, counts[line.table])
                counts[line.table] += 1
                self._found[key] = _joined(self._found[key], line) if key in self._found else line

    def _suites(self, users: int) -> dict[TableName, list[Promise]]:
        return {name: suite(name, recipe=self._recipe, users=users) for name in TABLES}


def lines_of(tables: Tables, suites: Mapping[TableName, Sequence[Promise]], *, released: frozenset[str]) -> list[ColumnLine]:
    """What became of every promise in the suites. `released`: all users of the set that the tables are a part of."""
    gathered, rows = Gathered(), dict(tables)
    votes = columns_of(rows.pop("gate_records"), record_type=GateRecordRow)
    gathered.add(rows, [votes], released=released)
    return _looked_at(gathered, suites)


def _looked_at(gathered: Gathered, suites: Mapping[TableName, Sequence[Promise]]) -> list[ColumnLine]:
    """Looks at one table after the other and lets go of each, for a look copies it."""
    lines: list[ColumnLine] = []
    with _context() as context:
        for table, promises in suites.items():
            found = gathered.tables.pop(table)
            if found.rows:
                lines.extend(_validated(_batch(context, table, found), table, promises, rows=found.rows))
            else:
                lines.extend(_of_no_rows(table, promise) for promise in promises)
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
        context_factory.set_context(None)  # else it would be kept, with its tables, until the next one comes


def _batch(context: Any, table: TableName, found: TableColumns) -> Any:
    import pandas as pd

    asset = context.data_sources.get("tables").add_dataframe_asset(table)
    return asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": pd.DataFrame(found.columns)})


def _validated(batch: Any, table: TableName, promises: Sequence[Promise], *, rows: int) -> list[ColumnLine]:
    """First only whether each promise holds; which rows break it takes longer, and is asked of those that are broken."""
    details = {
        "result_format": "SUMMARY",
        "partial_unexpected_count": SAMPLE_SIZE,
        "unexpected_index_column_names": list(KEYS[table]),
    }
    held = _results(batch, table, dict(enumerate(promises)), form="BOOLEAN_ONLY")
    broken = {number: promise for number, promise in enumerate(promises) if not held[number].success}
    found = _results(batch, table, broken, form=details) if broken else {}
    return [_line(table, promise, found.get(number), rows=rows) for number, promise in enumerate(promises)]


def _results(batch: Any, table: TableName, promises: Mapping[int, Promise], *, form: object) -> dict[int, Any]:
    """Great Expectations' results by the promises' numbers."""
    from great_expectations import ExpectationSuite
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    asked = [
        ExpectationConfiguration(type=promise.expectation, kwargs=dict(promise.options), meta={"number": number})
        for number, promise in promises.items()
    ]
    told: Any = batch.validate(ExpectationSuite(name=table, expectations=asked), result_format=form)
    # Expectations that could not be computed come first, whatever their place in the suite.
    return {result.expectation_config.meta["number"]: result for result in told.results}


def _line(table: TableName, promise: Promise, broken: Any, *, rows: int) -> ColumnLine:
    line = ColumnLine(table=table, column=promise.column, promise=promise.words, rows=rows, unexpected=0)
    if broken is None:
        return line
    found = broken.result
    if "unexpected_count" not in found:
        told = f"found {found['observed_value']}" if "observed_value" in found else "could not be computed on these rows"
        return line.model_copy(update={"unexpected": rows, "sample": (told[:CELL_LIMIT],)})
    shown: list[dict[str, object]] = found.get("partial_unexpected_index_list") or []
    return line.model_copy(update={"unexpected": found["unexpected_count"], "sample": tuple(map(_told, shown[:SAMPLE_SIZE]))})


def _told(row: dict[str, object]) -> str:
    return ", ".join(f"{name}: {str(value)[:CELL_LIMIT]}" for name, value in row.items())


def _of_no_rows(table: TableName, promise: Promise) -> ColumnLine:
    wanted = int(str(promise.options.get("value", 0)))
    sample = ("found 0",) if wanted else ()
    return ColumnLine(table=table, column=promise.column, promise=promise.words, rows=0, unexpected=wanted, sample=sample)


def _joined(one: ColumnLine, other: ColumnLine) -> ColumnLine:
    return one.model_copy(
        update={
            "rows": one.rows + other.rows,
            "unexpected": one.unexpected + other.unexpected,
            "sample": (*one.sample, *other.sample)[:SAMPLE_SIZE],
        }
    )
