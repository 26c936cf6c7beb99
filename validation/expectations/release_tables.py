"""The tables of a release as columns, gathered user by user: quicker to look at than rows, and less to hold."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.rows import TABLES, TableName
from assets.amemgym.tables import table_rows
from assets.records.base import Record
from assets.records.columnar import Columns
from assets.records.common_tables import failure_row
from assets.records.failure import Failure
from validation.amemgym.tables.derived_columns import FACTS, Known, Tables, known_of, vote_facts


def released_rows(episodes: Iterable[Episode], failures: Iterable[Failure]) -> dict[TableName, list[Record]]:
    """The rows of all tables but gate_records, as a release writes them."""
    tables: dict[TableName, list[Record]] = {name: [] for name in TABLES if name != "gate_records"}
    for episode in episodes:
        for name, rows in table_rows(episode).items():
            tables[name].extend(rows)
    tables["failures"].extend(failure_row(failure) for failure in failures)
    return tables


@dataclass
class TableColumns:
    """One table: the columns of its rows, and those that are derived to look at them."""

    rows: int = 0
    columns: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])

    def add(self, columns: Columns, *, rows: int) -> None:
        """Take so many rows; what they lack of the columns is None."""
        for name in dict.fromkeys(chain(self.columns, columns)):
            if name not in self.columns:
                self.columns[name] = [None] * self.rows
            self.columns[name].extend(_looked_at(columns.get(name) or [None] * rows))
        self.rows += rows


def _looked_at(values: Sequence[Any]) -> Sequence[Any]:
    """Of mappings only that they are there, which is all that is promised of them, for they take most of the memory."""
    return [None if one is None else True for one in values] if isinstance(next(iter(values), None), dict) else values


@dataclass
class Gathered:
    """All tables of some users."""

    tables: dict[TableName, TableColumns] = field(default_factory=lambda: {name: TableColumns() for name in TABLES})

    @property
    def rows(self) -> int:
        """Of all tables."""
        return sum(columns.rows for columns in self.tables.values())

    def add(self, tables: Tables, votes: Iterable[Columns], *, released: frozenset[str]) -> None:
        """Take rows that refer to each other, those of gate_records by column.

        `released`: all users of the set that they are a part of.
        """
        known = known_of(tables, released=released)
        for name, rows in tables.items():
            values = [{**row.__dict__, **_facts(name, row, known)} for row in rows]
            names = dict.fromkeys(chain.from_iterable(values))
            self.tables[name].add({one: [row.get(one) for row in values] for one in names}, rows=len(rows))
        for seen in votes:
            texts: dict[str, str] = {}  # many votes are on one text, which then is held once
            shared = {"text": [texts.setdefault(text, text) for text in seen["text"]]}
            self.tables["gate_records"].add({**seen, **shared, **vote_facts(seen, known)}, rows=len(seen["text"]))


def _facts(table: TableName, row: Record, known: Known) -> dict[str, object]:
    try:
        return FACTS[table](row, known)
    except TypeError:
        # A value is missing, or is of another type, which the promises on its own column tell.
        return {}
