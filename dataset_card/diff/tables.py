"""Two releases' flat tables side by side, compared by keys in DuckDB, so that neither has to fit into memory."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from assets.records.flat_tables import Table
from assets.reporting.plurals import counted, is_or_are
from dataset_card.diff.records import CellChange, ChangeKind, RowChange, TableChange, VersionReason
from dataset_card.release.versions import Level

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# In the order of the columns that `_TableJoin.change` selects.
COUNTED = ("before", "after", "added", "removed", "relabelled", "annotated")


@dataclass(frozen=True)
class TablePair:
    """One table of both releases, and how many changed rows to show."""

    name: str
    table: Table
    before: Path
    after: Path
    examples: int


@dataclass(frozen=True)
class ComparedTable:
    """Changes of one table, and what they ask of the version."""

    change: TableChange
    reasons: tuple[VersionReason, ...] = ()


def compare_table(connection: "DuckDBPyConnection", pair: TablePair) -> ComparedTable:
    """Compare one table. Raises duckdb.Error for a file that is none."""
    join = _TableJoin(connection, pair)
    change = join.change()
    if pair.table.scored:
        return ComparedTable(change, tuple(join.reasons(change)))
    if not change.changed:
        return ComparedTable(change)
    because = f"the account of the making differs ({pair.name})"
    return ComparedTable(change, (VersionReason(level="patch", because=because),))


class _TableJoin:
    """The join of one table's two states, `b` before and `a` after."""

    def __init__(self, connection: "DuckDBPyConnection", pair: TablePair) -> None:
        self._connection = connection
        self._pair = pair
        self._keys = pair.table.key
        before = self._columns(pair.before)
        after = self._columns(pair.after)
        self._lost = sorted(name for name, kind in before.items() if after.get(name) != kind)
        self._new = sorted(after.keys() - before.keys())
        self._labels: list[str] = []
        self._notes: list[str] = []
        # A column of another type is lost, as no reader could treat it like the one before.
        for name, kind in before.items():
            if after.get(name) != kind or name in self._keys:
                continue
            if name in pair.table.unread:
                self._notes.append(name)
            else:
                self._labels.append(name)
        on = " AND ".join(f'b."{key}" = a."{key}"' for key in self._keys)
        self._join = f"FROM read_parquet($before) AS b FULL JOIN read_parquet($after) AS a ON {on}"
        # A key is never null, so its first column says on which side a row is.
        self._old = f'b."{self._keys[0]}"'
        self._fresh = f'a."{self._keys[0]}"'
        self._both = f"{self._old} IS NOT NULL AND {self._fresh} IS NOT NULL"
        # The weight of a changed row: read or scored otherwise, or changed in a note.
        self._order = f"CASE WHEN {self._differs(self._labels)} THEN 0 WHEN {self._differs(self._notes)} THEN 1 END"

    def change(self) -> TableChange:
        """Return the counts, and the first rows that differ."""
        of_weight = f"count(*) FILTER ({self._both} AND ({self._order}) = {{}})"
        selected = [
            f"count({self._old})",
            f"count({self._fresh})",
            f"count(*) FILTER ({self._old} IS NULL)",
            f"count(*) FILTER ({self._fresh} IS NULL)",
            *map(of_weight.format, range(2)),
        ]
        counts = dict(zip(COUNTED, self._rows(f"SELECT {', '.join(selected)} {self._join}")[0], strict=True))
        change = TableChange(table=self._pair.name, scored=self._pair.table.scored, **counts)
        # The second query sorts all rows, which takes longer than counting them.
        if not change.changed_rows:
            return change
        return change.model_copy(update={"examples": tuple(self._examples())})

    def reasons(self, change: TableChange) -> Iterator[VersionReason]:
        """Yield what the change asks of the version, by the rule of `release/versions.py`."""
        name = self._pair.name
        if self._lost:
            yield VersionReason(level="major", because=f"{name} has no column {self._lost[0]!r} as before")
        if change.removed:
            yield self._reason("major", change.removed, "gone")
        if self._pair.table.group:
            more = self._rows_in_old_groups(self._pair.table.group)
            if more:
                belong = "that belongs" if more == 1 else "that belong"
                because = f"{counted(more, 'row')} more of {name} {belong} to rows that were there"
                yield VersionReason(level="major", because=because)
        if change.added:
            yield self._reason("minor", change.added, "new")
        elif self._new:
            yield VersionReason(level="minor", because=f"{name} has more columns")
        if change.relabelled:
            changed = f"changed in what an assistant reads or is scored on{self._first_label(change)}"
            yield self._reason("major", change.relabelled, changed)
        if change.annotated:
            yield self._reason("patch", change.annotated, "changed in notes that no assistant reads")

    def _reason(self, level: Level, rows: int, words: str) -> VersionReason:
        return VersionReason(level=level, because=f"{counted(rows, 'row')} of {self._pair.name} {is_or_are(rows)} {words}")

    def _first_label(self, change: TableChange) -> str:
        """Name columns and key of the first changed row, in brackets."""
        if not change.examples:
            return ""
        first = change.examples[0]
        labels = ", ".join(cell.column for cell in first.cells if cell.kind == "label")
        key = ", ".join(f"{name} {value}" for name, value in first.key.items())
        return f" ({labels} of {key})"

    def _rows_in_old_groups(self, group: tuple[str, ...]) -> int:
        """Count new rows of an existing group: they make another task of it, although no existing row changed."""
        new = ", ".join(_columns_of("a", group))
        old = ", ".join(_columns_of("old", group))
        in_old_groups = f"({new}) IN (SELECT ({old}) FROM read_parquet($before) AS old)"
        return self._rows(f"SELECT count(*) {self._join} WHERE {self._old} IS NULL AND {in_old_groups}")[0][0]

    def _examples(self) -> Iterator[RowChange]:
        columns = [*self._labels, *self._notes]
        keys = _columns_of("a", self._keys)
        selected = list(keys)
        for name in columns:
            selected += [f'b."{name}"', f'a."{name}"']
        rows = self._rows(
            f"SELECT {', '.join(selected)} {self._join} WHERE {self._both} AND ({self._order}) IS NOT NULL "
            f"ORDER BY {self._order}, {', '.join(keys)} LIMIT {self._pair.examples}"
        )
        for row in rows:
            key = row[: len(keys)]
            cells = tuple(self._cells(columns, row[len(keys) :]))
            yield RowChange(key=dict(zip(self._keys, key, strict=True)), cells=cells)

    def _cells(self, columns: Sequence[str], values: Sequence[object]) -> Iterator[CellChange]:
        """Yield the cells that differ. `values` are two for each column: before and after."""
        for number, name in enumerate(columns):
            before = values[2 * number]
            after = values[2 * number + 1]
            if before != after:
                kind: ChangeKind = "note" if name in self._notes else "label"
                yield CellChange(column=name, kind=kind, before=value_text(before), after=value_text(after))

    def _differs(self, columns: list[str]) -> str:
        """Return SQL that is true where a column differs."""
        parts = [f'b."{name}" IS DISTINCT FROM a."{name}"' for name in columns]
        return f"({' OR '.join(parts)})" if parts else "false"

    def _columns(self, path: Path) -> dict[str, str]:
        described = self._connection.execute("DESCRIBE SELECT * FROM read_parquet($path)", {"path": str(path)}).fetchall()
        return {name: str(kind) for name, kind, *_ in described}

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        given = {"before": str(self._pair.before), "after": str(self._pair.after)}
        return self._connection.execute(sql, given).fetchall()


def _columns_of(side: str, names: Sequence[str]) -> list[str]:
    """Return columns of one side of the join as SQL names them."""
    return [f'{side}."{name}"' for name in names]


def value_text(value: object) -> str:
    """Return a cell as text: words as they are, nothing as nothing, lists and what they contain as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    pairs = cast(list[Mapping[str, object]], value) if isinstance(value, list) else []
    # Columns that map names to values come as lists of pairs.
    if pairs and all(isinstance(pair, dict) and set(pair) == {"key", "value"} for pair in pairs):
        value = {str(pair["key"]): pair["value"] for pair in pairs}
    return json.dumps(value, ensure_ascii=False)
