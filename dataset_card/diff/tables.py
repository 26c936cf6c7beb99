"""Two releases' flat tables side by side, compared by keys in DuckDB, so that neither has to fit into memory."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from assets.engine.benchmark import Table
from dataset_card.diff.records import CellChange, ChangeKind, RowChange, TableChange, VersionReason

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True)
class TablePair:
    """One table of both releases, and how many changed rows to show."""

    name: str
    table: Table
    before: Path
    after: Path
    examples: int


def compare_table(connection: "DuckDBPyConnection", pair: TablePair) -> tuple[TableChange, list[VersionReason]]:
    """What changed in one table, and what that asks of the version. Raises duckdb.Error for a file that is none."""
    join = _TableJoin(connection, pair)
    change = join.change()
    if pair.table.scored:
        return change, list(join.reasons(change))
    because = f"the account of the making differs ({pair.name})"
    return change, [VersionReason(level="patch", because=because)] if change.changed else []


class _TableJoin:
    """The join of one table's two states, `b` before and `a` after."""

    def __init__(self, connection: "DuckDBPyConnection", pair: TablePair) -> None:
        self._connection, self._pair = connection, pair
        self._keys = pair.table.key
        before, after = self._columns(pair.before), self._columns(pair.after)
        self._lost = sorted(name for name, kind in before.items() if after.get(name) != kind)
        self._new = sorted(set(after) - set(before))
        shared = [name for name, kind in before.items() if after.get(name) == kind and name not in self._keys]
        self._kinds: dict[str, ChangeKind] = {name: "words" if name in pair.table.words else "label" for name in shared}
        on = " AND ".join(f'b."{key}" = a."{key}"' for key in self._keys)
        self._join = f"FROM read_parquet($before) AS b FULL JOIN read_parquet($after) AS a ON {on}"
        # A key is never null, so its first column says on which side a row is.
        self._old, self._fresh = f'b."{self._keys[0]}"', f'a."{self._keys[0]}"'
        self._both = f"{self._old} IS NOT NULL AND {self._fresh} IS NOT NULL"

    def change(self) -> TableChange:
        """Counts, and the first rows that differ."""
        label, words = self._differs("label"), self._differs("words")
        counts = self._rows(
            f"SELECT count({self._old}), count({self._fresh}), count(*) FILTER ({self._old} IS NULL), "
            f"count(*) FILTER ({self._fresh} IS NULL), count(*) FILTER ({self._both} AND ({label})), "
            f"count(*) FILTER ({self._both} AND NOT ({label}) AND ({words})) {self._join}"
        )[0]
        names = ("before", "after", "added", "removed", "relabelled", "reworded")
        change = TableChange(table=self._pair.name, **dict(zip(names, counts, strict=True)))
        if not change.relabelled and not change.reworded:
            return change
        return change.model_copy(update={"examples": tuple(self._examples(label, words))})

    def reasons(self, change: TableChange) -> Iterator[VersionReason]:
        """What the change asks of the version, by the rule of `release/versions.py`."""
        name = self._pair.name
        if self._lost:
            yield VersionReason(level="major", because=f"{name} has no column {self._lost[0]!r} as before")
        if change.removed:
            yield VersionReason(level="major", because=f"{_count_text(change.removed, name)} gone")
        if change.relabelled:
            first = change.examples[0]
            labels = ", ".join(cell.column for cell in first.cells if cell.kind == "label")
            because = f"{_count_text(change.relabelled, name)} changed in a label ({labels} of {_key_text(first.key)})"
            yield VersionReason(level="major", because=because)
        if self._pair.table.group and (more := self._rows_in_old_groups(self._pair.table.group)):
            yield VersionReason(level="major", because=f"{more} rows more of {name} that belong to rows that were there")
        if change.added or self._new:
            yield VersionReason(
                level="minor", because=f"{_count_text(change.added, name)} new" if change.added else f"{name} has more columns"
            )
        if change.reworded:
            yield VersionReason(level="patch", because=f"{_count_text(change.reworded, name)} worded otherwise")

    def _rows_in_old_groups(self, group: tuple[str, ...]) -> int:
        """New rows of an existing group: they make another task of it, although no existing row changed."""
        new, old = (", ".join(f'{side}"{name}"' for name in group) for side in ("a.", ""))
        return self._rows(
            f"SELECT count(*) {self._join} WHERE {self._old} IS NULL AND ({new}) IN (SELECT ({old}) FROM read_parquet($before))"
        )[0][0]

    def _examples(self, label: str, words: str) -> Iterator[RowChange]:
        keys = [f'a."{key}"' for key in self._keys]
        cells = [f'{side}."{name}"' for name in self._kinds for side in ("b", "a")]
        rows = self._rows(
            f"SELECT {', '.join([*keys, *cells])} {self._join} WHERE {self._both} AND ({label} OR {words}) "
            f"ORDER BY NOT ({label}), {', '.join(keys)} LIMIT {self._pair.examples}"
        )
        for row in rows:
            values = row[len(keys) :]
            changes = [
                CellChange(column=name, kind=kind, before=value_text(before), after=value_text(after))
                for (name, kind), before, after in zip(self._kinds.items(), values[::2], values[1::2], strict=True)
                if before != after
            ]
            yield RowChange(key=dict(zip(self._keys, row[: len(keys)], strict=True)), cells=tuple(changes))

    def _differs(self, kind: ChangeKind) -> str:
        names = [name for name, own in self._kinds.items() if own == kind]
        return " OR ".join(f'b."{name}" IS DISTINCT FROM a."{name}"' for name in names) or "false"

    def _columns(self, path: Path) -> dict[str, str]:
        described = self._connection.execute("DESCRIBE SELECT * FROM read_parquet($path)", {"path": str(path)}).fetchall()
        return {row[0]: str(row[1]) for row in described}

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        given = {"before": str(self._pair.before), "after": str(self._pair.after)}
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
    return f"{count:,} {'row' if count == 1 else 'rows'} of {table} {'is' if count == 1 else 'are'}"


def _key_text(key: Mapping[str, str | int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in key.items())
