"""A command in a terminal, as an SVG whose moments follow each other as they did."""

import os
import pty
import re
import select
import time
from codecs import getincrementaldecoder
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from pathlib import Path

from tests.support.commands import AMEMGYM, clean_environment

COLUMNS, ROWS = 104, 28
PARTS = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n]+)")
LINE, CHARACTER, MARGIN, BAR = 18, 7.85, 14, 22
LONGEST, ALL = 1.5, 12.0  # seconds that a moment is shown, and all but the last one
PAUSE = 8.0  # seconds that the last one is
MOMENTS, SAME_BAR = 24, 2  # at most in all, and of one bar under way


@dataclass
class Screen:
    """What stands on a terminal, without colours."""

    lines: list[str] = field(default_factory=lambda: [""])
    row: int = 0
    column: int = 0

    def feed(self, text: str) -> None:
        """Take what was printed: words, line ends, and the codes by which progress bars go up and clear lines."""
        for numbers, code, back, end, words in PARTS.findall(text):
            if words:
                line = self.lines[self.row].ljust(self.column)
                self.lines[self.row] = line[: self.column] + words + line[self.column + len(words) :]
                self.column += len(words)
            elif back:
                self.column = 0
            elif end:
                self.row += 1
                self.lines += [""] * (self.row + 1 - len(self.lines))
            elif code == "A":
                self.row = max(0, self.row - int(numbers or 1))
            elif code == "K":
                self.lines[self.row] = "" if numbers == "2" else self.lines[self.row][: self.column]

    def shown(self) -> tuple[str, ...]:
        """The last lines, without those that are empty at the end."""
        text = "\n".join(line.rstrip() for line in self.lines).rstrip()
        return tuple(text.split("\n")[-ROWS:])


def record(home: Path, *words: str) -> Iterator[tuple[float, tuple[str, ...]]]:
    """The moments of `amemgym WORDS`: seconds since its start, and the lines that stood there, the command's among them."""
    process, terminal = pty.fork()
    if process == 0:
        around = clean_environment(home, COLUMNS=str(COLUMNS), LINES=str(ROWS), TERM="xterm", NO_COLOR="1")
        os.execve(AMEMGYM[0], [*AMEMGYM, *words], around)
    screen, letters, began = Screen(), getincrementaldecoder("utf-8")("replace"), time.monotonic()
    screen.feed(f"$ {' '.join(('amemgym', *words))}\n")
    while True:
        select.select([terminal], [], [])
        try:
            printed = os.read(terminal, 65536)
        except OSError:  # as a terminal ends on Linux
            break
        if not printed:
            break
        # A letter may be cut by the end of what was read; the data folder is a temporary one here.
        screen.feed(letters.decode(printed).replace(str(home), "data"))
        yield time.monotonic() - began, screen.shown()
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0, "\n".join(screen.shown())


def drawn(command: str, moments: Sequence[tuple[float, tuple[str, ...]]]) -> str:
    """The SVG: a strip of all moments, one below the other, of which a window shows one at a time, again and again.

    Where nothing moves, or somebody wants less motion, the last moment stands there.
    """
    kept = list(_thinned(moments))
    rows = max(len(lines) for _, lines in kept)
    width, height = round(COLUMNS * CHARACTER + 2 * MARGIN), rows * LINE + 2 * MARGIN
    starts = [0.0]
    for (before, _), (after, _) in pairwise(kept):
        starts.append(starts[-1] + min(LONGEST, after - before))
    shorter = min(1.0, ALL / max(starts[-1], 1e-3))
    starts = [start * shorter for start in starts]
    seconds = starts[-1] + PAUSE
    stops = "".join(
        f"{100 * start / seconds:.3f}%{{transform:translateY({-place * height}px)}}" for place, start in enumerate(starts)
    )
    last = f"translateY({-(len(kept) - 1) * height}px)"
    style = (
        "text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#e6e9ed;white-space:pre}"
        f".strip{{transform:{last}}}"
        f"@keyframes moments{{{stops}to{{transform:{last}}}}}"
        f"@media(prefers-reduced-motion:no-preference){{.strip{{animation:moments {seconds:.2f}s step-end infinite}}}}"
    )
    dots = "".join(
        f'<circle cx="{18 + 18 * place}" cy="16" r="5.5" fill="{colour}"/>'
        for place, colour in enumerate(("#ff5f57", "#febc2e", "#28c840"))
    )
    strip = "".join(_moment(lines, top=place * height) for place, (_, lines) in enumerate(kept))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height + BAR}" role="img" '
        f'aria-label="{escape(command)}">'
        f'<style>{style}</style><rect width="{width}" height="{height + BAR}" rx="8" fill="#14181d"/>{dots}'
        f'<svg y="{BAR}" width="{width}" height="{height}"><g class="strip">{strip}</g></svg></svg>\n'
    )


def _thinned(moments: Sequence[tuple[float, tuple[str, ...]]]) -> Iterator[tuple[float, tuple[str, ...]]]:
    """Some of the moments in which something else stood there, and the last."""
    different = list[tuple[float, tuple[str, ...]]]()
    for one in moments:
        # Of a bar that only moves, a few moments tell enough.
        if one[1] not in (lines for _, lines in different[-1:]) and _alike(one, different[-SAME_BAR:]) < SAME_BAR:
            different.append(one)
    if different[-1][1] != moments[-1][1]:
        different.append(moments[-1])
    step = max(1, -(-len(different) // MOMENTS))
    yield from different[:-1:step]
    yield different[-1]


def _alike(moment: tuple[float, tuple[str, ...]], others: Sequence[tuple[float, tuple[str, ...]]]) -> int:
    """How many of the others say the same but for the last line."""
    return sum(lines[:-1] == moment[1][:-1] for _, lines in others)


def _moment(lines: Sequence[str], *, top: int) -> str:
    """`top`: where it stands in the strip, in pixels."""
    texts = "".join(
        f'<text x="{MARGIN}" y="{top + MARGIN + LINE * (place + 1)}" xml:space="preserve">{escape(line)}</text>'
        for place, line in enumerate(lines)
        if line
    )
    return f"<g>{texts}</g>"
