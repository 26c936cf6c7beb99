"""Titles of rows for readers: a user's name in place of an id, a question's words in place of its number."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assets.records.flat_tables import Table
from dataset_card.diff.records import RowChange
from dataset_card.diff.tables import ComparedTable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

Key = tuple[str, ...]


@dataclass(frozen=True)
class Titles:
    """The tables of both releases that have titles; `folders`: of their files, the earlier release's first."""

    connection: "DuckDBPyConnection"
    tables: Mapping[str, Table]
    folders: Sequence[Path]

    def find(self, name: str, keys: Collection[Key]) -> dict[Key, str]:
        """Return the titles of a table's rows with these keys; those that both releases have are the later one's."""
        found: dict[Key, str] = {}
        if not keys:
            return found
        table = self.tables[name]
        columns = ", ".join(f'"{column}"::VARCHAR' for column in table.key)
        sql = f'SELECT {columns}, "{table.title}" FROM read_parquet($path) WHERE [{columns}] IN (SELECT unnest($keys))'
        for folder in self.folders:
            path = folder / f"{name}.parquet"
            if self._has_column(path, table.title):
                given = {"path": str(path), "keys": sorted(map(list, keys))}
                for *key, title in self.connection.execute(sql, given).fetchall():
                    found[tuple(key)] = title
        return found

    def _has_column(self, path: Path, column: str) -> bool:
        """Return False also where there is no such table, which one of the two releases may lack."""
        if not path.is_file():
            return False
        described = self.connection.execute("DESCRIBE SELECT * FROM read_parquet($path)", {"path": str(path)}).fetchall()
        return any(row[0] == column for row in described)

    def added_to(self, compared: Sequence[ComparedTable]) -> Iterator[ComparedTable]:
        """Yield the compared tables, with titles at their examples."""
        known: dict[str, dict[Key, str]] = {}
        for name, table in self.tables.items():
            if not table.title:
                continue
            keys: set[Key] = set()
            for other in compared:
                keys.update(_part(row, table) for row in other.change.examples if _has_key(row, table))
            known[name] = self.find(name, keys)
        for other in compared:
            examples = tuple(row.model_copy(update={"titles": self._of_row(row, known)}) for row in other.change.examples)
            yield replace(other, change=other.change.model_copy(update={"examples": examples}))

    def _of_row(self, row: RowChange, known: Mapping[str, Mapping[Key, str]]) -> dict[str, str]:
        """Return titles by the last column of each key that the row's own key holds."""
        titles: dict[str, str] = {}
        for name, found in known.items():
            table = self.tables[name]
            title = found.get(_part(row, table)) if _has_key(row, table) else None
            if title:
                titles[table.key[-1]] = title
        return titles


def _has_key(row: RowChange, table: Table) -> bool:
    return set(table.key) <= row.key.keys()


def _part(row: RowChange, table: Table) -> Key:
    return tuple(str(row.key[column]) for column in table.key)
