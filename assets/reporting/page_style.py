"""The parts that all HTML pages share: one look, a number on a scale, and the address of each. Nothing is loaded."""

from functools import cache
from pathlib import Path
from urllib.parse import quote

from markupsafe import Markup, escape

from assets.records.estimate import Estimate, percent
from assets.reporting.asset_description import ID

# `amemgym ui` serves our pages under this path beside Dagster's, so that metadata can link to them.
PREFIX = "/pages"
STYLE = Path(__file__).with_name("page.css")
# For tables of the class `many`.
NARROW_TABLES = Path(__file__).with_name("narrow_tables.css")
# How far beyond its ends a scale reaches, as a share of it.
BEYOND = 0.06
SCALE = Markup(
    '<svg class="scale" viewBox="0 0 300 34" aria-hidden="true"><line class="track" x1="20" x2="280" y1="9" y2="9"></line>'
    '{interval}<circle class="dot" cx="{dot:.1f}" cy="9" r="6"></circle><text x="20" y="30">{left}</text>'
    '<text x="280" y="30" text-anchor="end">{right}</text></svg>'
)
INTERVAL = Markup('<line class="interval" x1="{0:.1f}" x2="{1:.1f}" y1="9" y2="9"></line>')


@cache
def page_style(*further: Path) -> str:
    """The shared style sheet, and these files' rules after it."""
    return "".join(path.read_text(encoding="utf-8") for path in (STYLE, *further))


def page_address(*parts: str) -> str:
    """The address of a page below PREFIX, without a host: it holds on whatever port the page is served."""
    return "/".join((PREFIX, *map(quote, parts)))


def short_id(text: object) -> Markup:
    """The first digits of a long id, all of it as the title; any other text as it is."""
    words = str(text)
    return Markup('<abbr title="{0}">{1}</abbr>').format(words, words[:8]) if ID.fullmatch(words) else escape(words)


def scale(estimate: Estimate, *, low: float, high: float, left: str, right: str) -> Markup:
    """A number and its interval on the way from `low` to `high`, whose meanings are `left` and `right`, as a small picture.

    What lies beyond an end is drawn a little beyond it. Empty where there is no number.
    """
    if estimate.value is None or high <= low:
        return Markup("")

    def at(value: float) -> float:
        return 20 + 260 * min(max((value - low) / (high - low), -BEYOND), 1 + BEYOND)

    interval = ""
    if estimate.low is not None and estimate.high is not None:
        interval = INTERVAL.format(at(estimate.low), at(estimate.high))
    ends = {"left": f"{left} {percent(low)}".strip(), "right": f"{right} {percent(high)}".strip()}
    return SCALE.format(interval=interval, dot=at(estimate.value), **ends)
