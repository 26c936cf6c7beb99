"""A diff as one HTML page: the verdict, pictures, changed texts with their words marked, and then tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.reporting.page_style import NARROW_TABLES, page_style, titled
from assets.reporting.plurals import counted
from dataset_card.diff.records import MetricChange, ReleaseDiff
from dataset_card.diff.render import COUNTS, by_interest, figure_text, marked_words, named, rules_text, shown_counts

USERS_SHOWN = 50
UP, DOWN = "\N{UPWARDS ARROW}", "\N{DOWNWARDS ARROW}"
STYLE = Path(__file__).with_name("page.css")
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

    @property
    def arrow(self) -> str:
        return arrow(self.before, self.after)

    @property
    def words(self) -> str:
        """The arrow for who cannot see it."""
        return {UP: "up", DOWN: "down"}.get(self.arrow, "as before")


@dataclass(frozen=True)
class Total:
    """Rows of one kind of change over all tables; whether scores hang on them."""

    rows: int
    words: str
    is_label: bool


def arrow(before: float | None, after: float | None) -> str:
    """Where a figure went; empty where one of the releases does not have it."""
    if before is None or after is None:
        return ""
    return UP if after > before else DOWN if after < before else "="


def diff_page(diff: ReleaseDiff) -> str:
    """The page. It follows from the diff alone."""
    bars, movements = list(_bars(diff)), list(_movements(diff.quality))[:FIGURES_DRAWN]
    return (
        _environment()
        .get_template("diff.html.j2")
        .render(
            diff=diff,
            style=page_style(NARROW_TABLES, STYLE),
            rules=rules_text(diff),
            tables=by_interest(diff.tables),
            totals=list(_totals(diff)),
            bars=bars,
            movements=movements,
            contents=list(_contents(diff, bars=bars, movements=movements)),
            news=[one for one in diff.figures if not one.is_noise],
            noise=[one for one in diff.figures if one.is_noise],
            counts={name: COUNTS[name] for name in shown_counts(diff)},
            names=NAMES,
            users_shown=USERS_SHOWN,
        )
    )


def _totals(diff: ReleaseDiff) -> Iterator[Total]:
    scored = [table for table in diff.tables if table.scored]
    for kind in PARTS[1:]:
        rows = sum(getattr(table, kind) for table in scored)
        if rows:
            yield Total(rows, f"{'row' if rows == 1 else 'rows'} {NAMES[kind]}", is_label=kind in ("relabelled", "removed"))


def _contents(diff: ReleaseDiff, *, bars: Sequence[Bar], movements: Sequence[Movement]) -> Iterator[tuple[str, str]]:
    """The page's headings with their ids."""
    if bars:
        yield "bars", "Rows of both"
    if movements:
        yield "figures", "Figures that moved"
    for table in by_interest(diff.tables):
        if table.examples and table.scored:
            yield table.table, table.table
    yield "rows", "Rows by table"
    if diff.settings:
        yield "making", "How it was made"


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
    environment.filters["counted"] = counted  # pyright: ignore[reportArgumentType]
    environment.filters["figure"] = figure_text
    environment.filters["titled"] = titled
    environment.filters["share"] = lambda value: f"{value:.1f}\N{NO-BREAK SPACE}%"
    environment.globals["arrow"] = arrow  # pyright: ignore[reportArgumentType]
    environment.globals["named"] = named  # pyright: ignore[reportArgumentType]
    environment.globals["marked_words"] = marked_words  # pyright: ignore[reportArgumentType]
    return environment
