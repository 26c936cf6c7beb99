"""A user's states as a picture: one row per variable, its values over the periods, a mark wherever one changed.

The SVG is written here, in a few rectangles: a plotting library would take a second to import in the middle of a run.
"""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import NamedTuple

from assets.amemgym.records.trajectory import StateTrajectory

# From light to dark in blue, told apart in grey too; a variable's first value is the lightest.
SHADES = ("#dbe7f3", "#9cc3e4", "#f2c879", "#5b93c7", "#d98c3f", "#2f6ba5", "#a85f1d", "#123f6b")
DARK_FROM = 5
NAMES, WIDTH, ROW, HEAD = 190, 900, 20, 34
LETTER = 6.2
MOST_ROWS = 30


class Stretch(NamedTuple):
    """Periods `first` to `last` in which a variable holds one value; `shade` counts its values in order of appearance."""

    first: int
    last: int
    value: str
    shade: int


@dataclass(frozen=True)
class Scale:
    """Where periods lie across the picture."""

    periods: int

    def at(self, period: float) -> float:
        """The left edge of a period."""
        return round(NAMES + (WIDTH - NAMES) * period / self.periods, 1)


def life(trajectory: StateTrajectory) -> str:
    """The picture as Markdown that carries it: nothing is loaded from anywhere. A function of the record alone."""
    names = list(trajectory.periods[0].state)[:MOST_ROWS]
    scale = Scale(len(trajectory.periods))
    parts = [
        *_head(trajectory, scale),
        *(part for row, name in enumerate(names) for part in _row(trajectory, name, row, scale)),
    ]
    height = HEAD + ROW * len(names) + 4
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif" font-size="11">'
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>{"".join(parts)}</svg>'
    )
    told = f"States of user {trajectory.user_id}: a red mark stands where a value changed."
    return f"{told}\n\n![{told}](data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()})"


def stretches(values: Sequence[str]) -> Iterator[Stretch]:
    """The stretches of equal values, in order."""
    known = list(dict.fromkeys(values))
    first = 0
    for place in range(1, len(values) + 1):
        if place == len(values) or values[place] != values[first]:
            yield Stretch(first, place - 1, values[first], known.index(values[first]))
            first = place


def _head(trajectory: StateTrajectory, scale: Scale) -> Iterator[str]:
    yield '<text x="4" y="14" fill="#555">period, and the day it ends</text>'
    step = 1 + (scale.periods - 1) // 12
    for period in trajectory.periods[::step]:
        left = scale.at(period.index)
        yield f'<text x="{left}" y="14" font-weight="bold">{period.index}</text>'
        yield f'<text x="{left}" y="28" font-size="9" fill="#555">{period.end:%Y-%m}</text>'


def _row(trajectory: StateTrajectory, name: str, row: int, scale: Scale) -> Iterator[str]:
    top = HEAD + ROW * row
    yield f'<text x="4" y="{top + 14}">{_fitting(name, NAMES - 8)}</text>'
    for stretch in stretches([period.state[name] for period in trajectory.periods]):
        left, right = scale.at(stretch.first), scale.at(stretch.last + 1)
        shade = stretch.shade % len(SHADES)
        width = round(right - left, 1)
        yield f'<rect x="{left}" y="{top + 1}" width="{width}" height="{ROW - 2}" fill="{SHADES[shade]}"/>'
        if stretch.first:
            yield f'<rect x="{left}" y="{top + 1}" width="3" height="{ROW - 2}" fill="#b00020"/>'
        ink = ' fill="#fff"' if shade >= DARK_FROM else ""
        yield f'<text x="{left + 6}" y="{top + 14}"{ink}>{_fitting(stretch.value, width - 8)}</text>'


def _fitting(text: str, width: float) -> str:
    """As much of the text as there is room for."""
    room = int(width / LETTER)
    return escape(text if len(text) <= room else text[: max(room - 2, 0)] + ".." if room > 3 else "")
