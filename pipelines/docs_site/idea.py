"""`python -m pipelines.docs_site.idea`: the picture of the idea, a life line with a question whose right answer changes.

The user is the first of the variant `demo`, as the embedded model tells him.
"""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

PICTURE = Path(__file__).parents[1] / "guide" / "pictures" / "idea.svg"
QUESTION = "What would make my camping trips better over the coming years?"
ALT = "One user's life in three moments: what he says, the state it shows, and the answer that is right then."


@dataclass(frozen=True)
class Moment:
    """What the user says in a session, the state that it shows, and the answer that is right from then on."""

    date: str
    says: str
    state: tuple[str, str]
    changed: int
    answer: str


MOMENTS = (
    Moment(
        "September 2020",
        "Cold creeps in from below as I sway, so I've hung a quilt underneath.",
        ("tree hammock", "gas burner"),
        -1,
        "Lie diagonally in the sling so your spine is flat ...",
    ),
    Moment(
        "January 2021",
        "I bought a secondhand nylon dome with poles, pegs and a rain cover.",
        ("ground tent", "gas burner"),
        0,
        "Hammer the pegs at a slant away from the nylon ...",
    ),
    Moment(
        "April 2021",
        "I left every pan at home and lived happily on wraps, nuts and crackers.",
        ("ground tent", "no-cook meals"),
        1,
        "Settle on a few outdoor meals that you truly like ...",
    ),
)

WIDTH, HEIGHT, COLUMN, MARGIN = 860, 422, 270, 25
WRAP = 31
STYLE = """
text { font: 14px system-ui, "Segoe UI", Helvetica, Arial, sans-serif; fill: #1f2933 }
.ground { fill: #fff } .head { font-weight: 600 } .faint { fill: #5c6773; font-size: 12.5px }
.box { fill: #f3f6f9; stroke: #c9d3dd } .asked { fill: #fff6e0; stroke: #e0b84c } .right { fill: #e8f5ec; stroke: #7fb991 }
.line { stroke: #0b5394; stroke-width: 3 } .dot { fill: #0b5394 } .new { font-weight: 600; fill: #b45309 }
@media (prefers-color-scheme: dark) {
  .ground { fill: #14181d } text { fill: #e4e8ec } .faint { fill: #a3adb8 }
  .box { fill: #1d2733; stroke: #3d4a58 } .asked { fill: #3a3018; stroke: #8f7530 }
  .right { fill: #17301f; stroke: #3f7a54 } .line { stroke: #6fa8dc } .dot { fill: #6fa8dc } .new { fill: #f6b26b }
}
"""


def picture() -> str:
    """The picture as SVG, readable on light and on dark pages."""
    parts = "\n".join([*_life_line(), *_question(), *(part for number in range(3) for part in _moment(number))])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" role="img" '
        f'aria-label="{ALT}">\n<style>{STYLE}</style>\n{parts}\n</svg>\n'
    )


def _life_line() -> Iterator[str]:
    # A ground of its own, because a page may be light where the system is dark.
    yield _box(0, 0, WIDTH, HEIGHT, kind="ground")
    yield f'<line class="line" x1="{MARGIN}" y1="132" x2="{WIDTH - MARGIN}" y2="132"/>'
    yield _text(MARGIN, 24, "What the user says, months apart", kind="faint")


def _question() -> Iterator[str]:
    yield _text(MARGIN, 252, "Asked after every one of these moments", kind="faint")
    yield _box(MARGIN, 262, WIDTH - 2 * MARGIN, 40, kind="asked")
    yield _text(WIDTH / 2, 287, QUESTION, kind="head", middle=True)
    yield _text(MARGIN, 332, "The right answer among those offered", kind="faint")


def _moment(number: int) -> Iterator[str]:
    moment, left = MOMENTS[number], MARGIN + number * COLUMN
    centre = left + COLUMN / 2
    yield _box(left + 4, 34, COLUMN - 8, 74)
    yield from _lines(centre, 58, f"“{moment.says}”")
    yield f'<circle class="dot" cx="{centre}" cy="132" r="7"/>'
    yield _text(centre, 162, moment.date, kind="head", middle=True)
    for row, value in enumerate(moment.state):
        kind = "new" if row == moment.changed else ""
        yield _text(centre, 188 + 22 * row, value, kind=kind, middle=True)
    yield _box(left + 4, 342, COLUMN - 8, 66, kind="right")
    yield from _lines(centre, 370, moment.answer)


def _lines(centre: float, top: float, words: str) -> Iterator[str]:
    for row, line in enumerate(textwrap.wrap(words, WRAP)):
        yield _text(centre, top + 19 * row, line, middle=True)


def _box(left: float, top: float, width: float, height: float, *, kind: str = "box") -> str:
    return f'<rect class="{kind}" x="{left}" y="{top}" width="{width}" height="{height}" rx="8"/>'


def _text(left: float, base: float, words: str, *, kind: str = "", middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{left}" y="{base}"{anchor}>{escape(words)}</text>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
