"""A diff as one HTML page: the verdict, pictures, changed texts with their words marked, and then tables."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from dataset_card.diff.records import MetricChange, ReleaseDiff
from dataset_card.diff.render import COUNTS, by_interest, figure_text, marked_words, rules_text

USERS_SHOWN = 50
FIGURES_DRAWN = 24
# Kinds of rows in the picture of tables, from what stayed to what decides the version.
PARTS = ("unchanged", "added", "annotated", "reworded", "relabelled", "removed")
NAMES = {kind: COUNTS.get(kind, "as before") for kind in PARTS}


@dataclass(frozen=True)
class Part:
    """A stretch of a bar, in percent of its width."""

    kind: str
    start: float
    width: float
    rows: int


@dataclass(frozen=True)
class Bar:
    """A table's rows of both releases, by what became of them."""

    name: str
    parts: tuple[Part, ...]


@dataclass(frozen=True)
class Movement:
    """A share that moved: where it was and is, and its interval before, in percent."""

    name: str
    before: float
    after: float
    low: float | None
    high: float | None
    is_noise: bool


def diff_page(diff: ReleaseDiff) -> str:
    """The page. It follows from the diff alone."""
    return (
        _environment()
        .get_template("diff.html.j2")
        .render(
            diff=diff,
            rules=rules_text(diff),
            tables=by_interest(diff.tables),
            bars=list(_bars(diff)),
            movements=list(_movements(diff.quality))[:FIGURES_DRAWN],
            news=[one for one in diff.figures if not one.is_noise],
            noise=[one for one in diff.figures if one.is_noise],
            counts=COUNTS,
            names=NAMES,
            users_shown=USERS_SHOWN,
        )
    )


def _bars(diff: ReleaseDiff) -> Iterator[Bar]:
    for table in by_interest(diff.tables):
        if not table.scored or not table.changed:
            continue
        changed = {name: getattr(table, name) for name in PARTS[1:]}
        stayed = table.after - sum(changed.values()) + table.removed
        rows = {"unchanged": stayed, **changed}
        total, start, parts = sum(rows.values()), 0.0, list[Part]()
        for kind in PARTS:
            width = 100 * rows[kind] / total
            if rows[kind]:
                parts.append(Part(kind, round(start, 2), round(width, 2), rows[kind]))
            start += width
        yield Bar(table.table, tuple(parts))


def _movements(figures: tuple[MetricChange, ...]) -> Iterator[Movement]:
    """Figures between 0 and 1, news first."""
    for one in sorted(figures, key=lambda one: one.is_noise):
        if one.before is None or one.after is None or not (0 <= one.before <= 1 and 0 <= one.after <= 1):
            continue
        low, high = (None if end is None else 100 * min(max(end, 0), 1) for end in (one.low, one.high))
        yield Movement(one.figure, 100 * one.before, 100 * one.after, low, high, one.is_noise)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["figure"] = figure_text
    environment.globals["marked_words"] = marked_words  # pyright: ignore[reportArgumentType]
    return environment
