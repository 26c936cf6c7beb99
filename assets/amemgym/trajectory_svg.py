"""A user's states as a picture: one row per variable, its values over the periods, a mark wherever one changed.

The SVG is written here, in a few rectangles: a plotting library would take a second to import in the middle of a run.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from assets.amemgym.records.state import StateTrajectory

# From light to dark in blue, caption apart in grey too; a variable's first value is the lightest.
SHADES = ("#dbe7f3", "#9cc3e4", "#f2c879", "#5b93c7", "#d98c3f", "#2f6ba5", "#a85f1d", "#123f6b")
DARK_FROM = 5
NAME_WIDTH = 230
WIDTH = 900
ROW_HEIGHT = 20
HEAD_HEIGHT = 34
LETTER_WIDTH = 6.2  # of sans-serif at 11 pixels, on average
MAX_ROWS = 30  # more would fill a screen


class ValueSpan(NamedTuple):
    """Periods `first` to `last` in which a variable holds one value; `shade` counts its values in order of appearance."""

    first: int
    last: int
    value: str
    shade: int


@dataclass(frozen=True)
class TimeAxis:
    """The horizontal axis, on which the periods lie."""

    periods: int

    def left_edge(self, period: float) -> float:
        """Return the left edge of a period."""
        return round(NAME_WIDTH + (WIDTH - NAME_WIDTH) * period / self.periods, 1)


def trajectory_markdown(trajectory: StateTrajectory) -> str:
    """Return the picture as Markdown that carries it: nothing is loaded from anywhere. It depends on the record alone."""
    names = list(trajectory.periods[0].state)[:MAX_ROWS]
    axis = TimeAxis(len(trajectory.periods))
    parts = list(_head(trajectory, axis))
    for row, name in enumerate(names):
        parts.extend(_row(trajectory, name, row, axis))
    height = HEAD_HEIGHT + ROW_HEIGHT * len(names) + 4
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="11">'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>'
    )
    caption = f"States of user {trajectory.user_id}: a red mark shows where a value changed."
    return f"{caption}\n\n![{caption}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"


def value_spans(values: Sequence[str]) -> Iterator[ValueSpan]:
    """Yield the spans of equal values, in order."""
    known = list(dict.fromkeys(values))
    first = 0
    for index in range(1, len(values) + 1):
        if index == len(values) or values[index] != values[first]:
            yield ValueSpan(first, index - 1, values[first], known.index(values[first]))
            first = index


def _head(trajectory: StateTrajectory, axis: TimeAxis) -> Iterator[str]:
    yield '<text x="4" y="14" fill="#555">period, and the day it ends</text>'
    # Dates of more than twelve periods would run into each other.
    step = 1 + (axis.periods - 1) // 12
    for period in trajectory.periods[::step]:
        left = axis.left_edge(period.index)
        yield f'<text x="{left}" y="14" font-weight="bold">{period.index}</text>'
        yield f'<text x="{left}" y="28" font-size="9" fill="#555">{period.end:%Y-%m}</text>'


def _row(trajectory: StateTrajectory, name: str, row: int, axis: TimeAxis) -> Iterator[str]:
    top = HEAD_HEIGHT + ROW_HEIGHT * row
    yield f'<text x="4" y="{top + 14}">{_truncate_text(name, NAME_WIDTH - 8)}</text>'
    for span in value_spans([period.state[name] for period in trajectory.periods]):
        left = axis.left_edge(span.first)
        width = round(axis.left_edge(span.last + 1) - left, 1)
        shade = span.shade % len(SHADES)
        yield f'<rect x="{left}" y="{top + 1}" width="{width}" height="{ROW_HEIGHT - 2}" fill="{SHADES[shade]}"/>'
        if span.first:  # nothing changed at the beginning
            yield f'<rect x="{left}" y="{top + 1}" width="3" height="{ROW_HEIGHT - 2}" fill="#b00020"/>'
        color = ' fill="#fff"' if shade >= DARK_FROM else ""
        yield f'<text x="{left + 6}" y="{top + 14}"{color}>{_truncate_text(span.value, width - 8)}</text>'


def _truncate_text(text: str, width: float) -> str:
    """Return as much of the text as there is room for."""
    room = int(width / LETTER_WIDTH)
    if len(text) > room:
        text = text[: room - 2] + ".." if room > 3 else ""
    return escape(text)
