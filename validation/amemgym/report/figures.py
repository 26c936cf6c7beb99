"""The report's pictures as SVG: functions of the numbers alone, readable without colour, the same bytes everywhere."""

import io
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

from assets.amemgym.records.report import OptionPosition, QualityReport, ShortcutLine, StateMovement
from assets.records.report import GateLine

# matplotlib's axes, whose methods are typed in part only.
Axes = Any
# Two colours that stay apart for every kind of colour vision and in grey, and one for what is behind them.
DARK, BRIGHT, FAINT = "#0b5394", "#e69f00", "#8a8a8a"
SHADES = ("#0b5394", "#56b4e9", "#e69f00", "#999999", "#009e73", "#cc79a7")
STYLE: dict[str, Any] = {
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 10,
    "font.size": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "amemgym",
    "text.parse_math": False,
}
# In inches. Small enough that the letters can be read on a telephone.
WIDE, NARROW = 5.2, 3.4
REFERENCE = re.compile(r'(\bid="|url\(#|href="#)')


class Figure(NamedTuple):
    """A picture: what it shows in words, and its panels as SVG elements, which a page may set beside or below each other."""

    alt: str
    panels: tuple[str, ...]


def figures(report: QualityReport) -> dict[str, Figure]:
    """All pictures that the report has numbers for, by name. A user's own settings of matplotlib stay out of the bytes."""
    import matplotlib

    mpl: Any = matplotlib
    with mpl.rc_context({**mpl.rcParamsDefault, **STYLE}):
        return {name: Figure(alt, tuple(_drawn(name, panels, height))) for name, alt, panels, height in _pictures(report)}


Panel = Callable[[Axes], None]
Picture = tuple[str, str, list[Panel], float]


def _pictures(report: QualityReport) -> Iterator[Picture]:
    if report.wall:
        alt = "Accuracy without memory by way of choosing, with 95 % intervals, beside guessing and the limit."
        yield "shortcuts", alt, [partial(shortcut_accuracies, report.wall)], 1.1 + 0.24 * len(report.wall)
    if report.motion:
        panels = [partial(choice_shares, report.motion), partial(golden_changes, report.motion)]
        yield "movement", "Values held by period, and the share of right options that changed by period.", panels, 2.8
    if report.places:
        panels = [partial(right_by_position, report.places), partial(lengths_by_position, report.places)]
        yield "positions", "By position among the options: how often it is right, and how long the texts are.", panels, 2.8
    if report.gates:
        height = 1.2 + 0.32 * len(report.gates)
        yield "gates", "Items by gate and by what it took to pass.", [partial(gates, report.gates)], height
    if report.diversity:
        panels = [partial(likeness, report.diversity.likeness)]
        yield "likeness", "Questions by how alike the most similar other question is.", panels, 2.4


def _drawn(name: str, panels: Sequence[Panel], height: float) -> Iterator[str]:
    from matplotlib.figure import Figure as Canvas

    for number, panel in enumerate(panels, start=1):
        figure: Any = Canvas(figsize=(NARROW if len(panels) > 1 else WIDE, height), layout="constrained")
        panel(figure.add_subplot())
        stream = io.StringIO()
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
        content = stream.getvalue()
        # Several pictures share one page, so each gets ids of its own.
        yield REFERENCE.sub(rf"\g<1>{name}-{number}-", content[content.index("<svg") :]).replace("\n", " ")


def shortcut_accuracies(lines: Sequence[ShortcutLine], axes: Axes) -> None:
    """A row per line: its accuracy with interval, what a guess reaches, and the limit where there is one."""
    from matplotlib.lines import Line2D

    for row, line in enumerate(lines):
        ends = [100 * end for end in (line.accuracy.low, line.accuracy.high) if end is not None]
        colour = "#b00020" if line.verdict == "crossed" else FAINT if line.verdict == "told" else DARK
        axes.plot(ends, [row] * len(ends), color=colour, linewidth=2)
        axes.plot(100 * (line.accuracy.value or 0.0), row, color=colour, marker="o", markersize=4)
        axes.plot(100 * line.random, row, color="black", marker="|", markersize=9)
        if line.verdict != "told":
            axes.plot(100 * line.limit, row, color=BRIGHT, marker="|", markersize=11, markeredgewidth=2.5)
    axes.set_yticks(range(len(lines)), [line.cue for line in lines])
    ends = [end for line in lines for end in (line.accuracy.value, line.accuracy.high, line.limit % 1) if end is not None]
    axes.set(xlabel="right, % of (question, period) pairs", xlim=(0, min(100.0, 100 * max(ends) + 12)))
    axes.invert_yaxis()
    marks = [("measured", DARK, "o"), ("no limit", FAINT, "o"), ("guess", "black", "|"), ("limit", BRIGHT, "|")]
    keys = [Line2D([], [], color=colour, marker=marker, linestyle="", label=label) for label, colour, marker in marks]
    axes.legend(handles=keys, loc="lower right")


def choice_shares(movement: StateMovement, axes: Axes) -> None:
    """Stacked shares of the variables that hold the first, second, ... of their choices."""
    rows = movement.choice_shares
    bottoms = [0.0] * len(rows)
    for choice in range(max(map(len, rows), default=0)):
        heights = [100 * row[choice] if choice < len(row) else 0.0 for row in rows]
        shade = SHADES[choice % len(SHADES)]
        axes.bar(range(len(rows)), heights, bottom=bottoms, width=0.9, color=shade, label=f"choice {choice + 1}")
        bottoms = [low + height for low, height in zip(bottoms, heights, strict=True)]
    axes.set(title="Choice that variables hold, %", xlabel="period (0: the start)", ylim=(0, 100))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=3)
    _whole_numbers(axes)


def golden_changes(movement: StateMovement, axes: Axes) -> None:
    """Share of right options that are others than a period before, with the range of the reference's data."""
    shares = [100 * share for share in movement.golden_changes]
    axes.axhspan(34, 40, color="#dddddd", zorder=0, label="reference data")
    axes.bar(range(1, len(shares) + 1), shares, color=DARK)
    axes.set(title="Right options that changed, %", xlabel="period", ylim=(0, max([50.0, *shares]) * 1.1))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2))
    _whole_numbers(axes)


def right_by_position(lines: Sequence[OptionPosition], axes: Axes) -> None:
    """How often the option at each position is right."""
    axes.bar([line.place for line in lines], [100 * line.right for line in lines], color=DARK)
    axes.set(title="Right, by position, %", xlabel="position among the options shown")
    axes.set_ylim(0, max(40.0, *(130 * line.right for line in lines)))
    _whole_numbers(axes)


def lengths_by_position(lines: Sequence[OptionPosition], axes: Axes) -> None:
    """Mean length at each position, of options that are right at some time and of the others."""
    for shift, label, colour, values in (
        (-0.2, "right at some time", DARK, [line.right_length for line in lines]),
        (0.2, "never right", BRIGHT, [line.other_length for line in lines]),
    ):
        axes.bar([line.place + shift for line in lines], [value or 0.0 for value in values], 0.38, color=colour, label=label)
    axes.set(title="Mean length, characters", xlabel="position among the options shown")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    _whole_numbers(axes)


def gates(lines: Sequence[GateLine], axes: Axes) -> None:
    """Stacked shares of each gate's items by what it took to pass."""
    parts = [
        ("at once", DARK, [line.passed_at_once for line in lines]),
        ("after refining", "#56b4e9", [line.passed_after_refining for line in lines]),
        ("after a new draft", BRIGHT, [line.passed_after_redrafting for line in lines]),
    ]
    lefts = [0.0] * len(lines)
    for label, colour, counts in parts:
        widths = [100 * count / max(1, line.items) for count, line in zip(counts, lines, strict=True)]
        axes.barh(range(len(lines)), widths, left=lefts, color=colour, label=label, height=0.6)
        lefts = [left + width for left, width in zip(lefts, widths, strict=True)]
    axes.set_yticks(range(len(lines)), [f"{line.gate} ({line.items:,})" for line in lines])
    axes.set(xlabel="accepted items, %", xlim=(0, 100))
    axes.invert_yaxis()
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=3)


def likeness(counts: Sequence[int], axes: Axes) -> None:
    """Histogram of each question's likeness to its most similar other."""
    width = 1 / len(counts)
    axes.bar([width * (step + 0.5) for step in range(len(counts))], counts, width=0.92 * width, color=DARK)
    axes.set(
        xlabel="likeness to the most similar other question (1: the same words or meaning)", ylabel="questions", xlim=(0, 1)
    )


def _whole_numbers(axes: Axes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
