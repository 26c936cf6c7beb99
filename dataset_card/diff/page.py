"""A diff as one HTML page: the verdict, figures that moved, changed texts with their words marked, and then tables."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.reporting.page_style import NARROW_TABLES, page_style, with_title
from assets.reporting.plurals import counted
from dataset_card.diff.records import MetricChange, ReleaseDiff
from dataset_card.diff.render import COUNTS, LABELS, by_interest, marked_words, name_users, tables_of

# Longer lists make a page that nobody reads; --json has all of them.
USERS_SHOWN = 50
FIGURES_DRAWN = 24
STYLE = Path(__file__).with_name("page.css")
PLACES = ("beyond", "no interval", "inside")


@dataclass(frozen=True)
class Movement:
    """A share that moved: before and after, and its interval before, in percent."""

    name: str
    before: float
    after: float
    low: float | None
    high: float | None
    place: str


def diff_page(diff: ReleaseDiff) -> str:
    """Return the page. It follows from the diff alone."""
    template = _environment().get_template("diff.html.j2")
    return template.render(
        diff=diff,
        style=page_style(NARROW_TABLES, STYLE),
        rules=LABELS,
        counts=COUNTS,
        tables=by_interest(diff),
        movements=list(_movements(diff.quality))[:FIGURES_DRAWN],
        shared=tables_of(diff, untouched=True),
        name_users=name_users,
        marked_words=marked_words,
        users_shown=USERS_SHOWN,
    )


def _movements(figures: Sequence[MetricChange]) -> Iterator[Movement]:
    """Yield figures between 0 and 1, those first that moved beyond their intervals."""
    for figure in sorted(figures, key=lambda figure: PLACES.index(figure.place)):
        if figure.before is None or figure.after is None or not (0 <= figure.before <= 1 and 0 <= figure.after <= 1):
            continue
        low = _percent(figure.low)
        high = _percent(figure.high)
        yield Movement(figure.figure, 100 * figure.before, 100 * figure.after, low, high, figure.place)


def _percent(end: float | None) -> float | None:
    """Return an end of an interval in percent: intervals by approximation may reach beyond 0 and 1."""
    return None if end is None else 100 * min(max(end, 0), 1)


def _share(value: float) -> str:
    return f"{value:.1f}\N{NO-BREAK SPACE}%"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    filters: dict[str, Any] = {"counted": counted, "titled": with_title, "share": _share}
    environment.filters.update(filters)
    return environment
