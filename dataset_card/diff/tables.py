"""Two releases' flat tables side by side, compared by keys in DuckDB, so that neither has to fit into memory."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from assets.amemgym.records.rows import KEYS, TableName
from dataset_card.diff.records import CellChange, ChangeKind, Reason, RowChange, TableChange

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# How the rows came about: nothing that an assistant is shown or scored by.
MAKING = frozenset({"gate_records", "failures"})
# Free text; every other column is a label, those of later versions too.
WORDS: dict[str, frozenset[str]] = {
    "users": frozenset({"name", "hobbies_and_interests", "skills_and_expertise", "complementary_info", "formatted_str"}),
    "periods": frozenset({"period_summary"}),
    "sessions": frozenset({"event", "query", "messages"}),
    "questions": frozenset({"query"}),
    "answer_choices": frozenset({"answer"}),
}


@dataclass(frozen=True)
class TablePair:
    """One table of both releases, and how many changed rows to show."""

    name: TableName
    before: Path
    after: Path
    examples: int


def compare_table(connection: "DuckDBPyConnection", pair: TablePair) -> tuple[TableChange, list[Reason]]:
    """What changed in one table, and what that asks of the version. Raises duckdb.Error for a file that is none."""
    side = _SideBySide(connection, pair)
    change = side.change()
    reasons = [] if pair.name in MAKING else list(side.reasons(change))
    made = change.changed and pair.name in MAKING
    return change, [
        *reasons,
        Reason(level="patch", because=f"the account of the making differs ({pair.name})"),
    ] if made else reasons


class _SideBySide:
    """The join of one table's two states, `b` before and `a` after."""

    def __init__(self, connection: "DuckDBPyConnection", pair: TablePair) -> None:
        self._connection, self._pair = connection, pair
        self._keys = KEYS[pair.name]
        before, after = self._columns(pair.before), self._columns(pair.after)
        self._lost = sorted(name for name, kind in before.items() if after.get(name) != kind)
        self._new = sorted(set(after) - set(before))
        shared = [name for name, kind in before.items() if after.get(name) == kind and name not in self._keys]
        words = WORDS.get(pair.name, frozenset[str]())
        self._kinds: dict[str, ChangeKind] = {name: "words" if name in words else "label" for name in shared}
        on = " AND ".join(f'b."{key}" = a."{key}"' for key in self._keys)
        self._join = f"FROM read_parquet($before) AS b FULL JOIN read_parquet($after) AS a ON {on}"
        self._both = "b.user_id IS NOT NULL AND a.user_id IS NOT NULL"

    def change(self) -> TableChange:
        """Counts, and the first rows that differ."""
        label, words = self._differs("label"), self._differs("words")
        counts = self._rows(
            f"SELECT count(b.user_id), count(a.user_id), count(*) FILTER (b.user_id IS NULL), "
            f"count(*) FILTER (a.user_id IS NULL), count(*) FILTER ({self._both} AND ({label})), "
            f"count(*) FILTER ({self._both} AND NOT ({label}) AND ({words})) {self._join}"
        )[0]
        names = ("before", "after", "added", "removed", "relabelled", "reworded")
        change = TableChange(table=self._pair.name, **dict(zip(names, counts, strict=True)))
        if not change.relabelled and not change.reworded:
            return change
        return change.model_copy(update={"examples": tuple(self._examples(label, words))})

    def reasons(self, change: TableChange) -> Iterator[Reason]:
        """By the rule of `versions.py`."""
        name = self._pair.name
        if self._lost:
            yield Reason(level="major", because=f"{name} has no column {self._lost[0]!r} as before")
        if change.removed:
            yield Reason(level="major", because=f"{_rows_of(change.removed, name)} gone")
        if change.relabelled:
            first = change.examples[0]
            labels = ", ".join(cell.column for cell in first.cells if cell.kind == "label")
            told = f"{_rows_of(change.relabelled, name)} changed in a label ({labels} of {_told(first.key)})"
            yield Reason(level="major", because=told)
        if name == "answer_choices" and (options := self._options_of_old_questions()):
            yield Reason(level="major", because=f"{options} options more for questions that were there")
        if change.added or self._new:
            yield Reason(
                level="minor", because=f"{_rows_of(change.added, name)} new" if change.added else f"{name} has more columns"
            )
        if change.reworded:
            yield Reason(level="patch", because=f"{_rows_of(change.reworded, name)} worded otherwise")

    def _options_of_old_questions(self) -> int:
        """An option more is another task, although no row that was there changed."""
        return self._rows(
            f"SELECT count(*) {self._join} WHERE b.user_id IS NULL AND (a.user_id, a.question_id) IN "
            f"(SELECT (user_id, question_id) FROM read_parquet($before))"
        )[0][0]

    def _examples(self, label: str, words: str) -> Iterator[RowChange]:
        keys = [f'a."{key}"' for key in self._keys]
        cells = [f'{side}."{name}"' for name in self._kinds for side in ("b", "a")]
        found = self._rows(
            f"SELECT {', '.join([*keys, *cells])} {self._join} WHERE {self._both} AND ({label} OR {words}) "
            f"ORDER BY NOT ({label}), {', '.join(keys)} LIMIT {self._pair.examples}"
        )
        for row in found:
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
    """A cell as text: words as they are, nothing as nothing, lists and what lies in them as JSON."""
    if value is None or isinstance(value, str):
        return value or ""
    pairs = cast(list[Mapping[str, object]], value) if isinstance(value, list) else []
    if pairs and all(isinstance(pair, dict) and set(pair) == {"key", "value"} for pair in pairs):
        value = {str(pair["key"]): pair["value"] for pair in pairs}
    return json.dumps(value, ensure_ascii=False)


def _rows_of(count: int, table: str) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'} of {table} {'is' if count == 1 else 'are'}"


def _told(key: Mapping[str, str | int]) -> str:
    return ", ".join(f"{name} {value}" for name, value in key.items())
