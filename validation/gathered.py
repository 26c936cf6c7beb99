"""The tables of a release as columns, gathered user by user: quicker to look at than rows, and less to hold."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from assets.records.base import Record
from assets.records.episode import Episode
from assets.records.failure import Failure
from assets.records.gate import GateRecord
from assets.records.rows import TABLES, TableName
from assets.tables import failure_row, gate_record_rows, table_rows
from validation.table_facts import FACTS, Known, Tables, known_of


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


@dataclass
class TableColumns:
    """One table: the columns of its rows, and those that are derived to look at them."""

    rows: int = 0
    columns: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])

    def add(self, values: Sequence[dict[str, Any]]) -> None:
        """Take rows; what one lacks of the columns is None."""
        for name in dict.fromkeys(chain(self.columns, *values)):
            column = self.columns.get(name)
            if column is None:
                column = self.columns[name] = [None] * self.rows
            column.extend([row.get(name) for row in values])
        self.rows += len(values)


@dataclass
class Gathered:
    """All tables of some users."""

    tables: dict[TableName, TableColumns] = field(default_factory=lambda: {name: TableColumns() for name in TABLES})

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(columns.rows for columns in self.tables.values())

    def add(self, tables: Tables, *, released: frozenset[str]) -> None:
        """Take rows that refer to each other. `released`: all users of the set that they are a part of."""
        known = known_of(tables, released=released)
        for name, rows in tables.items():
            self.tables[name].add([{**row.__dict__, **_facts(name, row, known)} for row in rows])


def _facts(table: TableName, row: Record, known: Known) -> dict[str, object]:
    try:
        return FACTS[table](row, known)
    except TypeError:
        # A value is missing, or is of another type, which the promises on its own column tell.
        return {}
