"""Figures of a release that two releases can be compared by: counted from its tables, and read from its quality report."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, cast

from dataset_card.diff.records import Drift

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# One number each, over the tables of one release. Sums of whole numbers, so that no order of adding changes a digit.
STATISTICS: dict[str, str] = {
    "sessions of a user": "SELECT (SELECT count(*) FROM {sessions}) / (SELECT count(*) FROM {users})",
    "state variables of a user": "SELECT (SELECT count(*) FROM {state_variables}) / (SELECT count(*) FROM {users})",
    "changes of state in a period": "SELECT count(old_value) / (SELECT count(*) FROM {periods} WHERE period > 0) FROM {states}",
    "options of a question": "SELECT (SELECT count(*) FROM {answer_choices}) / (SELECT count(*) FROM {questions})",
    "characters of a session's query": "SELECT sum(length(query)) / count(*) FROM {sessions}",
    "characters of a question": "SELECT sum(length(query)) / count(*) FROM {questions}",
    "characters of an answer": "SELECT sum(length(answer)) / count(*) FROM {answer_choices}",
    "share of questions whose right option changes with the period": (
        "SELECT sum(len(list_filter(list_zip(golden[:-2], golden[2:]), lambda pair: pair[1] <> pair[2]))) "
        "/ sum(len(golden) - 1) FROM {questions}"
    ),
    "share of right options that stand first": (
        "SELECT count(*) FILTER (position = 0) / count(*) FROM (SELECT user_id, question_id, unnest(golden) AS choice_id "
        "FROM {questions}) JOIN {answer_choices} USING (user_id, question_id, choice_id)"
    ),
}
# In the report these are lists of cases to look at, limits and luck rather than measurements, or counted here as well.
NOT_FIGURES = frozenset(
    {
        *("worst", "examples", "twins", "groups", "likeness", "kinds"),
        *("low", "high", "limit", "random", "luck", "by_chance", "threshold"),
        *("counts", "lengths", "turns_per_user", "golden_changes", "parity"),
    }
)
DIGITS = 4
PARTS = Formatter().parse


def statistics(connection: "DuckDBPyConnection", tables: Path) -> dict[str, float | None]:
    """The figures of one release's tables; None where there is nothing to count. `tables` is the folder of them."""
    files = {path.stem: "read_parquet('" + str(path).replace("'", "''") + "')" for path in tables.glob("*.parquet")}
    countable = {
        name: sql for name, sql in STATISTICS.items() if {field for _, field, _, _ in PARTS(sql) if field} <= set(files)
    }
    found = {name: connection.execute(sql.format_map(files)).fetchone() for name, sql in countable.items()}
    return {name: _rounded(row[0]) if row else None for name, row in found.items()}


def report_figures(path: Path) -> dict[str, float | None]:
    """The measured numbers of a quality report in JSON by dotted name; none where there is no such file."""
    return dict(_measured("", json.loads(path.read_bytes()))) if path.is_file() else {}


def drifts(before: Mapping[str, float | None], after: Mapping[str, float | None]) -> tuple[Drift, ...]:
    """The figures that are not the same, in the order of the new release, then those that are gone."""
    names = [*after, *(name for name in before if name not in after)]
    return tuple(
        Drift(figure=name, before=before.get(name), after=after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    )


def _measured(name: str, value: Any) -> Iterator[tuple[str, float | None]]:
    """Estimates by their value; of a list, the items that have a name, which is their first text."""
    if isinstance(value, float):
        yield name, _rounded(value)
    elif isinstance(value, dict):
        inner = cast(dict[str, Any], value)
        if {"value", "low", "high"} <= set(inner):
            yield name, _rounded(inner["value"])
            return
        for key, item in inner.items():
            if key not in NOT_FIGURES:
                yield from _measured(f"{name}.{key}".lstrip("."), item)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            called = (
                next((text for text in cast(dict[str, Any], item).values() if isinstance(text, str)), "")
                if isinstance(item, dict)
                else ""
            )
            if called:
                yield from _measured(f"{name}.{called}", item)


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(float(value), DIGITS)
