"""What readers know rows by: a user's name in place of an id, a question's words in place of its number."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assets.engine.benchmark import Table
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
        """The titles of a table's rows with these keys; those that both releases have are the later one's."""
        table, found = self.tables[name], dict[Key, str]()
        columns = ", ".join(f'"{column}"::VARCHAR' for column in table.key)
        for folder in self.folders if keys else ():
            path = folder / f"{name}.parquet"
            if not self._has_title(path, table.title):
                continue
            given = {"path": str(path), "keys": sorted(map(list, keys))}
            sql = f'SELECT {columns}, "{table.title}" FROM read_parquet($path) WHERE [{columns}] IN (SELECT unnest($keys))'
            found.update((row[:-1], row[-1]) for row in self.connection.execute(sql, given).fetchall())
        return found

    def _has_title(self, path: Path, column: str) -> bool:
        """Releases of other versions of this program may lack the table or the column."""
        if not path.is_file():
            return False
        described = self.connection.execute("DESCRIBE SELECT * FROM read_parquet($path)", {"path": str(path)}).fetchall()
        return any(row[0] == column for row in described)

    def added_to(self, compared: Sequence[ComparedTable]) -> Iterator[ComparedTable]:
        """The compared tables, with titles at their examples."""
        rows = [row for one in compared for row in one.change.examples]
        known = {
            name: self.find(name, {_part(row, table) for row in rows if _has_key(row, table)})
            for name, table in self.tables.items()
            if table.title
        }
        for one in compared:
            examples = tuple(row.model_copy(update={"titles": self._of_row(row, known)}) for row in one.change.examples)
            yield replace(one, change=one.change.model_copy(update={"examples": examples}))

    def _of_row(self, row: RowChange, known: Mapping[str, Mapping[Key, str]]) -> dict[str, str]:
        """By the last column of each key that the row's own key holds."""
        titles = {
            name: found.get(_part(row, self.tables[name])) for name, found in known.items() if _has_key(row, self.tables[name])
        }
        return {self.tables[name].key[-1]: title for name, title in titles.items() if title}


def _has_key(row: RowChange, table: Table) -> bool:
    return set(table.key) <= row.key.keys()


def _part(row: RowChange, table: Table) -> Key:
    return tuple(str(row.key[column]) for column in table.key)
