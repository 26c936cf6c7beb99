"""Apply the tables' suites with Great Expectations, which is imported here only, when first needed (5 s, 260 MB).

Its context is ephemeral: nothing is read from or written to disk, and nothing is sent anywhere.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from assets.records.base import Record
from assets.records.episode import Episode
from assets.records.expectation import ColumnLine
from assets.records.failure import Failure
from assets.records.gate import GateRecord
from assets.records.recipe import Recipe
from assets.records.rows import KEYS, TABLES, TableName
from assets.tables import failure_row, gate_record_rows, table_rows
from validation.promises import Promise
from validation.suites import suite
from validation.table_facts import FACTS, Known, Tables, known_of

USERS_AT_ONCE = 500
SAMPLE_SIZE = 5
CELL_LIMIT = 120


def column_lines(
    episodes: Sequence[Episode],
    *,
    votes: Iterable[tuple[str, GateRecord]],
    failures: Sequence[Failure],
    recipe: Recipe,
    users_at_once: int = USERS_AT_ONCE,
) -> list[ColumnLine]:
    """Every promise of every table over finished users; `votes` are pairs of user id and gate record.

    Works on `users_at_once` users: the promises hold of a set when they hold of its parts, but for a user who is in two
    parts, of whom a rule of the episodes tells.
    """
    released = frozenset(episode.user_id for episode in episodes)
    own: defaultdict[str, list[GateRecord]] = defaultdict(list)
    for user_id, vote in votes:
        own[user_id].append(vote)
    found: dict[tuple[str, str, str], ColumnLine] = {}
    for start in range(0, max(1, len(episodes)), users_at_once):
        part = episodes[start : start + users_at_once]
        of_part = [(episode.user_id, vote) for episode in part for vote in own[episode.user_id]]
        tables = released_tables(part, votes=of_part, failures=() if start else failures, released=released)
        suites: dict[TableName, list[Promise]] = {name: suite(name, recipe=recipe, users=len(part)) for name in TABLES}
        for line in lines_of(tables, suites, released=released):
            key = (line.table, line.column, line.promise)
            found[key] = _joined(found[key], line) if key in found else line
    return list(found.values())


def released_tables(
    episodes: Sequence[Episode],
    *,
    votes: Iterable[tuple[str, GateRecord]],
    failures: Sequence[Failure],
    released: Collection[str],
) -> dict[TableName, list[Record]]:
    """The rows of all tables, as a release writes them."""
    tables: dict[TableName, list[Record]] = {name: [] for name in TABLES}
    for episode in episodes:
        for name, rows in table_rows(episode).items():
            tables[name].extend(rows)
    tables["gate_records"].extend(gate_record_rows(votes, failures, released=released))
    tables["failures"].extend(failure_row(failure) for failure in failures)
    return tables


def lines_of(tables: Tables, suites: Mapping[TableName, Sequence[Promise]], *, released: frozenset[str]) -> list[ColumnLine]:
    """What became of every promise in the suites. `released`: all users of the set that the tables are a part of."""
    known, context = known_of(tables, released=released), _context()
    lines: list[ColumnLine] = []
    for table, promises in suites.items():
        if rows := tables[table]:
            batch = _batch(context, table, [{**dict(row), **_facts(table, row, known)} for row in rows])
            lines.extend(_validated(batch, table, promises, rows=len(rows)))
        else:
            lines.extend(_of_no_rows(table, promise) for promise in promises)
    return lines


def _facts(table: TableName, row: Record, known: Known) -> dict[str, object]:
    try:
        return FACTS[table](row, known)
    except TypeError:
        # A value is missing, or is of another type, which the promises on its own column tell.
        return {}


def _context() -> Any:
    import great_expectations
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
    return context


def _batch(context: Any, table: TableName, rows: list[dict[str, object]]) -> Any:
    import pandas as pd

    asset = context.data_sources.get("tables").add_dataframe_asset(table)
    return asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": pd.DataFrame(rows)})


def _validated(batch: Any, table: TableName, promises: Sequence[Promise], *, rows: int) -> list[ColumnLine]:
    from great_expectations import ExpectationSuite
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration

    asked = [
        ExpectationConfiguration(type=promise.expectation, kwargs=dict(promise.options), meta={"number": number})
        for number, promise in enumerate(promises)
    ]
    form = {
        "result_format": "SUMMARY",
        "partial_unexpected_count": SAMPLE_SIZE,
        "unexpected_index_column_names": list(KEYS[table]),
    }
    results: Any = batch.validate(ExpectationSuite(name=table, expectations=asked), result_format=form)
    # Expectations that could not be computed come first, whatever their place in the suite.
    by_number = {result.expectation_config.meta["number"]: result for result in results.results}
    return [_line(table, promise, by_number[number], rows=rows) for number, promise in enumerate(promises)]


def _line(table: TableName, promise: Promise, result: Any, *, rows: int) -> ColumnLine:
    line = ColumnLine(table=table, column=promise.column, promise=promise.words, rows=rows, unexpected=0)
    if result.success:
        return line
    found = result.result
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
