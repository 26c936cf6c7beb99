"""The report's pictures as SVG: functions of the numbers alone, readable without colour, the same bytes everywhere."""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from operator import add, attrgetter
from typing import Any, NamedTuple

from assets.amemgym.records.report import QualityReport, ShortcutLine, StateMovement
from assets.records.report import GateLine

# matplotlib's axes, whose methods are typed in part only.
Axes = Any
# Two colours that stay apart for every kind of colour vision and in grey, and one for what is behind them.
DARK = "#0b5394"
BRIGHT = "#e69f00"
FAINT = "#8a8a8a"
CROSSED = "#b00020"
BAND = "#dddddd"  # behind bars
COLOUR_OF_VERDICT = {"crossed": CROSSED, "unlimited": FAINT}
SHADES = ("#0b5394", "#56b4e9", "#e69f00", "#999999", "#009e73", "#cc79a7")
STYLE: dict[str, Any] = {
    "backend": "agg",  # to find out which one a screen would take, matplotlib imports half of itself
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 11,
    "font.size": 10.5,
    "legend.columnspacing": 1,
    "legend.fontsize": 10,
    "legend.handlelength": 1.2,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "amemgym",
    "text.parse_math": False,
}
# In inches. Small enough that the letters can be read on a telephone.
WIDE = 4.2
NARROW = 2.7
# A page turns dark, so its pictures name the page's colours where a card's have their own.
PAGE_COLOURS = {"#000000": "var(--ink)", DARK: "var(--chart)", CROSSED: "var(--bad)", BAND: "var(--line)"}
REFERENCE = re.compile(r'(\bid="|url\(#|href="#)')


class Figure(NamedTuple):
    """A picture: a description in words, and its panels as SVG elements, which a page may set beside or below each other."""

    alt: str
    panels: tuple[str, ...]


Panel = Callable[[Axes], None]


def figures(report: QualityReport) -> dict[str, Figure]:
    """Return all pictures that the report has numbers for, by name."""
    import matplotlib

    mpl: Any = matplotlib
    drawn: dict[str, Figure] = {}

    def draw(name: str, alt: str, *panels: Panel, height: float) -> None:
        drawn[name] = Figure(alt, tuple(_panels_as_svg(name, panels, height)))

    # A user's own settings of matplotlib stay out of the bytes.
    with mpl.rc_context({**mpl.rcParamsDefault, **STYLE}):
        if report.shortcuts:
            alt = (
                "Accuracy without memory by way of choosing, with 95 % intervals, beside guessing and what each has to exceed."
            )
            height = 1.6 + 0.24 * len(report.shortcuts)
            draw("shortcuts", alt, partial(draw_shortcut_accuracies, report.shortcuts), height=height)
        if report.movement:
            draw("movement", "Values held by period.", partial(draw_choice_shares, report.movement), height=2.4)
        if report.gates:
            height = 1.2 + 0.32 * len(report.gates)
            draw("gates", "Items by gate and by what it took to pass.", partial(draw_gates, report.gates), height=height)
    return drawn


def _panels_as_svg(name: str, panels: Sequence[Panel], height: float) -> Iterator[str]:
    from matplotlib.figure import Figure as Canvas

    for number, panel in enumerate(panels, start=1):
        figure: Any = Canvas(figsize=(NARROW if len(panels) > 1 else WIDE, height), layout="constrained")
        panel(figure.add_subplot())
        stream = io.StringIO()
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        content = stream.getvalue()
        for colour, of_page in PAGE_COLOURS.items():
            content = content.replace(colour, of_page)
        # Several pictures share one page, so each gets ids of its own.
        yield REFERENCE.sub(rf"\g<1>{name}-{number}-", content[content.index("<svg") :]).replace("\n", " ")


def draw_shortcut_accuracies(lines: Sequence[ShortcutLine], axes: Axes) -> None:
    """Draw a row per line: its accuracy with interval, a guess, and what it has to exceed to be beyond its limit."""
    from matplotlib.lines import Line2D

    for row, line in enumerate(lines):
        ends = [100 * end for end in (line.accuracy.low, line.accuracy.high) if end is not None]
        colour = COLOUR_OF_VERDICT.get(line.verdict, DARK)
        axes.plot(ends, [row] * len(ends), color=colour, linewidth=2)
        axes.plot(100 * (line.accuracy.value or 0.0), row, color=colour, marker="o", markersize=4)
        axes.plot(100 * line.random, row, color="black", marker="|", markersize=9)
        if line.verdict != "unlimited":
            axes.plot(100 * line.threshold, row, color=BRIGHT, marker="|", markersize=11, markeredgewidth=2.5)
    axes.set_yticks(range(len(lines)), [line.shortcut for line in lines])
    axes.set(xlabel="right, % of (question, period) pairs", xlim=(-1, 101))
    axes.invert_yaxis()
    keys: list[Line2D] = []
    for label, colour, marker in (
        ("measured", DARK, "o"),
        ("no limit", FAINT, "o"),
        ("guess", "black", "|"),
        ("limit, or chance", BRIGHT, "|"),
    ):
        keys.append(Line2D([], [], color=colour, marker=marker, linestyle="", label=label))
    axes.figure.legend(handles=keys, loc="outside lower center", ncols=2)


def draw_choice_shares(movement: StateMovement, axes: Axes) -> None:
    """Draw stacked shares of the variables that hold the first, second, ... of their choices."""
    rows = movement.choice_shares
    bottoms = [0.0] * len(rows)
    for choice in range(max(map(len, rows), default=0)):
        heights = [100 * row[choice] if choice < len(row) else 0.0 for row in rows]
        shade = SHADES[choice % len(SHADES)]
        axes.bar(range(len(rows)), heights, bottom=bottoms, width=0.9, color=shade, label=f"choice {choice + 1}")
        bottoms = list(map(add, bottoms, heights))
    axes.set(title="Choice that variables hold, %", xlabel="period (0: the start)", ylim=(0, 100))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.26), ncols=3)
    _whole_numbers(axes)


def draw_gates(lines: Sequence[GateLine], axes: Axes) -> None:
    """Draw stacked shares of each gate's items by what it took to pass."""
    parts = [
        ("at once", DARK, attrgetter("passed_at_once")),
        ("refined", "#56b4e9", attrgetter("passed_after_refining")),
        ("drafted anew", BRIGHT, attrgetter("passed_after_redrafting")),
    ]
    lefts = [0.0] * len(lines)
    for label, colour, count_of in parts:
        widths = [100 * count_of(line) / max(1, line.items) for line in lines]
        axes.barh(range(len(lines)), widths, left=lefts, color=colour, label=label, height=0.6)
        lefts = list(map(add, lefts, widths))
    axes.set_yticks(range(len(lines)), [f"{line.gate} ({line.items:,})" for line in lines])
    axes.set(xlabel="accepted items, %", xlim=(0, 100))
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


def _whole_numbers(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
