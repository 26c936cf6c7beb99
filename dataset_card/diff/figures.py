"""Figures of two releases, counted in their tables and read from their quality reports, and which of them moved."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import TYPE_CHECKING, Any, cast

from assets.records.json_text import parse_json
from assets.records.limits import MOST_MANIFEST_BYTES, read_bounded
from dataset_card.diff.records import DiffError, MetricChange

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

# In the report these are lists of cases to look at, limits and luck rather than measurements, or counted here as well.
NOT_METRICS = frozenset(
    {
        *("worst", "examples", "similar", "kinds"),
        *("low", "high", "limit", "random", "luck", "threshold"),
        *("counts", "lengths", "turns_per_user", "golden_changes", "parity"),
        *("max_auroc", "max_found_cheaply", "length_tolerance"),
    }
)
# Sums of floats differ in their last digits with the order of the rows, which is no change.
DIGITS = 4


@dataclass(frozen=True)
class Measured:
    """A figure with its 95 % interval, where it has one. `value` None: there was nothing to count."""

    value: float | None
    low: float | None = None
    high: float | None = None


MISSING = Measured(None)


def count_metrics(connection: "DuckDBPyConnection", tables: Path, metrics: Mapping[str, str]) -> dict[str, Measured]:
    """Count the metrics of one release's tables, by name; those of tables that it lacks are left out.

    `tables` is the folder of the tables; each of `metrics` is a query of one number, with `{name}` for a table.
    """
    files: dict[str, str] = {}
    for path in tables.glob("*.parquet"):
        # A variable cannot stand in every place where a query names a table, so the path is quoted as SQL wants it.
        files[path.stem] = "read_parquet('" + str(path).replace("'", "''") + "')"
    measured: dict[str, Measured] = {}
    for name, sql in metrics.items():
        # A release may have been made before this table was.
        named = {name for _, name, _, _ in Formatter().parse(sql) if name}
        if not named <= files.keys():
            continue
        row = connection.execute(sql.format_map(files)).fetchone()
        measured[name] = Measured(_round_figure(row[0]) if row else None)
    return measured


def report_metrics(path: Path, *, words: Mapping[str, str]) -> dict[str, Measured]:
    """Read the measured figures of a quality report in JSON; none where there is no such file.

    `words` are `ReleaseFormat.figures`.
    """
    if not path.is_file():
        return {}
    try:
        content: object = parse_json(read_bounded(path, most=MOST_MANIFEST_BYTES))
    except ValueError as error:
        raise DiffError(f"{path} cannot be read as a quality report.") from error
    return dict(_measured_figures("", content, words, {}))


def _measured_figures(
    path: str, value: Any, words: Mapping[str, str], texts: Mapping[str, str]
) -> Iterator[tuple[str, Measured]]:
    """Yield the figures below a path. `texts`: those that tell apart the items of the lists and mappings on the way."""
    if isinstance(value, float):
        yield _name(path, words, texts), Measured(_round_figure(value))
    elif isinstance(value, dict):
        fields = cast(dict[str, Any], value)
        if {"value", "low", "high"} <= fields.keys():
            estimate = Measured(_round_figure(fields["value"]), _round_figure(fields["low"]), _round_figure(fields["high"]))
            yield _name(path, words, texts), estimate
            return
        for key, inner in fields.items():
            if path in words:
                yield from _measured_figures(path, inner, words, {**texts, "key": key})
            elif key not in NOT_METRICS:
                yield from _measured_figures(f"{path}.{key}".lstrip("."), inner, words, texts)
    elif isinstance(value, list):
        for item in cast(list[Any], value):
            own = _texts(item)
            # Numbers in a list cannot be paired without one.
            if own:
                yield from _measured_figures(path, item, words, {**texts, **own})


def _texts(item: object) -> dict[str, str]:
    """Return the item's fields that are texts, as words."""
    texts: dict[str, str] = {}
    if isinstance(item, dict):
        for name, value in cast(dict[str, Any], item).items():
            if isinstance(value, str):
                texts[name] = value.replace("_", " ")
    return texts


def _name(path: str, words: Mapping[str, str], texts: Mapping[str, str]) -> str:
    """Return the figure's words; of one without, its path and what tells it apart. Of decoys an empty text is all kinds."""
    if path in words:
        found = defaultdict(lambda: "not named", {name: text or "of all kinds" for name, text in texts.items()})
        return words[path].format_map(found)
    said = next(iter(texts.values()), "")
    return " ".join([*path.replace("_", " ").split("."), said]).strip()


def metric_changes(before: Mapping[str, Measured], after: Mapping[str, Measured]) -> tuple[MetricChange, ...]:
    """Return the figures that are not the same, in the order of the new release, then those that are gone."""
    changes: list[MetricChange] = []
    for name in dict.fromkeys([*after, *before]):
        old = before.get(name, MISSING)
        new = after.get(name, MISSING)
        in_one_only = (name in before) != (name in after)
        if old.value != new.value or in_one_only:
            changes.append(MetricChange(figure=name, before=old.value, after=new.value, low=old.low, high=old.high))
    return tuple(changes)


def _round_figure(value: float | None) -> float | None:
    return None if value is None else round(float(value), DIGITS)
