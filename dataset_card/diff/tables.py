"""Two releases' flat tables side by side, compared by keys in DuckDB, so that neither has to fit into memory."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from assets.engine.benchmark import Table
from assets.reporting.plurals import counted, is_or_are
from dataset_card.diff.records import CellChange, ChangeKind, RowChange, TableChange, VersionReason
from dataset_card.errata.files import Rewording
from dataset_card.release.versions import Level, highest

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class TablePair:
    """One table of both releases, how many changed rows to show, and its cells that two people marked as wording only."""

    name: str
    table: Table
    before: Path
    after: Path
    examples: int
    rewordings: tuple[Rewording, ...] = ()


@dataclass(frozen=True)
class ComparedTable:
    """What changed in one table, what that asks of the version, and what the first rule would have asked for."""

    change: TableChange
    reasons: tuple[VersionReason, ...] = ()
    by_first_rule: Level = "same"


def compare_table(connection: "DuckDBPyConnection", pair: TablePair) -> ComparedTable:
    """What changed in one table. Raises duckdb.Error for a file that is none."""
    join = _TableJoin(connection, pair)
    change = join.change()
    if pair.table.scored:
        return ComparedTable(change, tuple(join.reasons(change)), join.by_first_rule(change))
    if not change.changed:
        return ComparedTable(change)
    because = f"the account of the making differs ({pair.name})"
    return ComparedTable(change, (VersionReason(level="patch", because=because),), "patch")


class _TableJoin:
    """The join of one table's two states, `b` before and `a` after."""

    def __init__(self, connection: "DuckDBPyConnection", pair: TablePair) -> None:
        self._connection, self._pair = connection, pair
        self._keys = pair.table.key
        before, after = self._columns(pair.before), self._columns(pair.after)
        self._lost = sorted(name for name, kind in before.items() if after.get(name) != kind)
        self._new = sorted(set(after) - set(before))
        shared = [name for name, kind in before.items() if after.get(name) == kind and name not in self._keys]
        self._labels = [name for name in shared if name not in pair.table.unread]
        self._notes = [name for name in shared if name in pair.table.unread]
        self._marked = {(one.column, *one.key, one.was, one.now) for one in pair.rewordings}
        on = " AND ".join(f'b."{key}" = a."{key}"' for key in self._keys)
        self._join = f"FROM read_parquet($before) AS b FULL JOIN read_parquet($after) AS a ON {on}"
        # A key is never null, so its first column says on which side a row is.
        self._old, self._fresh = f'b."{self._keys[0]}"', f'a."{self._keys[0]}"'
        self._both = f"{self._old} IS NOT NULL AND {self._fresh} IS NOT NULL"
        self._order = (
            f"CASE WHEN {self._differs(self._labels, unmarked=True)} THEN 0 "
            f"WHEN {self._differs(self._labels)} THEN 1 WHEN {self._differs(self._notes)} THEN 2 END"
        )

    def change(self) -> TableChange:
        """Counts, and the first rows that differ."""
        counts = self._rows(
            f"SELECT count({self._old}), count({self._fresh}), count(*) FILTER ({self._old} IS NULL), "
            f"count(*) FILTER ({self._fresh} IS NULL), "
            + ", ".join(f"count(*) FILTER ({self._both} AND ({self._order}) = {number})" for number in range(3))
            + f" {self._join}"
        )[0]
        names = ("before", "after", "added", "removed", "relabelled", "reworded", "annotated")
        change = TableChange(table=self._pair.name, scored=self._pair.table.scored, **dict(zip(names, counts, strict=True)))
        if not change.relabelled and not change.reworded and not change.annotated:
            return change
        return change.model_copy(update={"examples": tuple(self._examples())})

    def reasons(self, change: TableChange) -> Iterator[VersionReason]:
        """What the change asks of the version, by the rule of `release/versions.py`."""
        name = self._pair.name
        yield from self._of_columns_and_rows(change)
        if change.relabelled:
            first = change.examples[0] if change.examples else None
            labels = ", ".join(cell.column for cell in first.cells if cell.kind == "label") if first else ""
            which = f" ({labels} of {_key_text(first.key)})" if first else ""
            because = f"{_count_text(change.relabelled, name)} changed in what an assistant reads or is scored on{which}"
            yield VersionReason(level="major", because=because)
        if change.reworded:
            because = f"{_count_text(change.reworded, name)} corrected in wording only, as two people marked"
            yield VersionReason(level="minor", because=because)
        if change.annotated:
            because = f"{_count_text(change.annotated, name)} changed in notes that no assistant reads"
            yield VersionReason(level="patch", because=because)

    def by_first_rule(self, change: TableChange) -> Level:
        """What the rule of earlier versions asks for, by which columns of free text were no labels."""
        valued = [name for name in (*self._labels, *self._notes) if name not in self._pair.table.words]
        levels: set[Level] = {reason.level for reason in self._of_columns_and_rows(change)}
        if self._rows(f"SELECT count(*) {self._join} WHERE {self._both} AND ({self._differs(valued)})")[0][0]:
            levels.add("major")
        if change.changed:
            levels.add("patch")
        return highest(levels)

    def _of_columns_and_rows(self, change: TableChange) -> Iterator[VersionReason]:
        name = self._pair.name
        if self._lost:
            yield VersionReason(level="major", because=f"{name} has no column {self._lost[0]!r} as before")
        if change.removed:
            yield VersionReason(level="major", because=f"{_count_text(change.removed, name)} gone")
        if self._pair.table.group and (more := self._rows_in_old_groups(self._pair.table.group)):
            belong = "that belongs" if more == 1 else "that belong"
            yield VersionReason(
                level="major",
                because=f"{counted(more, 'row')} more of {name} {belong} to rows that were there",
            )
        if change.added or self._new:
            yield VersionReason(
                level="minor", because=f"{_count_text(change.added, name)} new" if change.added else f"{name} has more columns"
            )

    def _rows_in_old_groups(self, group: tuple[str, ...]) -> int:
        """New rows of an existing group: they make another task of it, although no existing row changed."""
        new, old = (", ".join(f'{side}"{name}"' for name in group) for side in ("a.", ""))
        return self._rows(
            f"SELECT count(*) {self._join} WHERE {self._old} IS NULL AND ({new}) IN (SELECT ({old}) FROM read_parquet($before))"
        )[0][0]

    def _examples(self) -> Iterator[RowChange]:
        columns = [*self._labels, *self._notes]
        keys = [f'a."{key}"' for key in self._keys]
        cells = [f'{side}."{name}"' for name in columns for side in ("b", "a")]
        rows = self._rows(
            f"SELECT {', '.join([*keys, *cells])} {self._join} WHERE {self._both} AND ({self._order}) IS NOT NULL "
            f"ORDER BY {self._order}, {', '.join(keys)} LIMIT {self._pair.examples}"
        )
        for row in rows:
            key, values = row[: len(keys)], row[len(keys) :]
            changes = [
                CellChange(
                    column=name, kind=self._kind(name, key, before, after), before=value_text(before), after=value_text(after)
                )
                for name, before, after in zip(columns, values[::2], values[1::2], strict=True)
                if before != after
            ]
            yield RowChange(key=dict(zip(self._keys, key, strict=True)), cells=tuple(changes))

    def _kind(self, column: str, key: tuple[object, ...], before: object, after: object) -> ChangeKind:
        if column in self._notes:
            return "note"
        marked = isinstance(before, str) and isinstance(after, str) and (column, *map(str, key), before, after) in self._marked
        return "wording" if marked else "label"

    def _differs(self, columns: list[str], *, unmarked: bool = False) -> str:
        """Whether one of the columns differs; `unmarked`: otherwise than people marked as wording only."""
        parts = [f'(b."{name}" IS DISTINCT FROM a."{name}"{self._not_marked(name) if unmarked else ""})' for name in columns]
        return f"({' OR '.join(parts)})" if parts else "false"

    def _not_marked(self, column: str) -> str:
        if all(marked[0] != column for marked in self._marked):
            return ""
        cell = ", ".join([*(f'a."{key}"::VARCHAR' for key in self._keys), f'b."{column}"', f'a."{column}"'])
        return f" AND [{cell}] NOT IN (SELECT unnest($marked))"

    def _columns(self, path: Path) -> dict[str, str]:
        described = self._connection.execute("DESCRIBE SELECT * FROM read_parquet($path)", {"path": str(path)}).fetchall()
        return {row[0]: str(row[1]) for row in described}

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        given: dict[str, Any] = {"before": str(self._pair.before), "after": str(self._pair.after)}
        if "$marked" in sql:
            given["marked"] = [list(cell[1:]) for cell in sorted(self._marked)]
        return self._connection.execute(sql, given).fetchall()


def value_text(value: object) -> str:
    """A cell as text: words as they are, nothing as nothing, lists and what they contain as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    pairs = cast(list[Mapping[str, object]], value) if isinstance(value, list) else []
    if pairs and all(isinstance(pair, dict) and set(pair) == {"key", "value"} for pair in pairs):
        value = {str(pair["key"]): pair["value"] for pair in pairs}
    return json.dumps(value, ensure_ascii=False)


def _count_text(count: int, table: str) -> str:
    return f"{counted(count, 'row')} of {table} {is_or_are(count)}"


def _key_text(key: Mapping[str, str | int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in key.items())
