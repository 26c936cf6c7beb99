"""The card's figures as PNG files: functions of the numbers alone, readable on light and dark pages.

They are PNG and no SVG, because a card is shown by many programs, and all of them show PNG.
"""

import io
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib import import_module
from operator import add
from typing import Any

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import QualityReport, ShortcutLine, StateMovement
from dataset_card.release.digests import canonical_digest

FIGURES = "figures"
DOTS_PER_INCH = 120
# In inches.
WIDTH = 8.4
HEIGHT = 3.0
# Two colours that stay apart for every kind of colour vision and in grey, and one for what is behind them.
DARK = "#0b5394"
BRIGHT = "#e69f00"
FAINT = "#8a8a8a"
COLOUR_OF_VERDICT = {"crossed": "#b00020", "unlimited": FAINT}
SHADES = ("#0b5394", "#56b4e9", "#e69f00", "#999999", "#009e73", "#cc79a7")
STYLE: dict[str, Any] = {
    "backend": "agg",  # to find out which one a screen would take, matplotlib imports half of itself
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlepad": 10,
    "axes.titlesize": 11,
    "figure.facecolor": "white",
    "font.size": 10.5,
    "legend.columnspacing": 1,
    "legend.fontsize": 10,
    "legend.handlelength": 1.2,
    "legend.frameon": False,
    "text.parse_math": False,
}
# matplotlib's axes, whose annotations are only partly known to type checkers.
Axes = Any
Panel = Callable[[Axes], None]


@dataclass
class Statistics:
    """Sums over users by period, 0 being the initial one."""

    users: int = 0
    sessions: Counter[int] = field(default_factory=Counter[int])
    updates: Counter[int] = field(default_factory=Counter[int])

    def add(self, episode: Episode) -> None:
        self.users += 1
        for index, period in enumerate(episode.periods):
            self.sessions[index] += len(period.sessions)
            self.updates[index] += len(period.updates)

    def per_user(self, counted: Counter[int]) -> list[float]:
        return [counted[index] / self.users for index in range(len(self.sessions))]


@dataclass(frozen=True)
class Plot:
    """A figure of the card: its file's name, what it shows in words, and its bytes."""

    name: str
    alt: str
    png: bytes

    @property
    def path(self) -> str:
        """Its path in a release, which is the same on the Hub."""
        return f"{FIGURES}/{self.name}.png"


@dataclass(frozen=True)
class PlotSpec:
    """A figure before it is drawn: panels side by side. Two are equal when name and numbers are."""

    name: str
    numbers: str
    alt: str
    parts: tuple[Panel, ...] = field(compare=False)
    height: float = HEIGHT


def plots(statistics: Statistics, report: QualityReport | None) -> dict[str, Plot]:
    """Draw all figures that release and report have numbers for, by name."""
    numbers = canonical_digest([vars(statistics), report.model_dump(mode="json") if report else None])
    figures = list(_of_statistics(statistics, report, numbers=numbers))
    if report:
        figures += _of_report(report, numbers=numbers)
    return {figure.name: Plot(figure.name, figure.alt, draw_png(figure)) for figure in figures}


# A rerun writes the same release again, to compare it with the existing one.
@lru_cache(maxsize=32)
def draw_png(figure: PlotSpec) -> bytes:
    """Draw panels side by side. A user's own settings of matplotlib, its version and the clock stay out of the bytes."""
    # Takes a second, and its annotations are only partly known to type checkers.
    matplotlib: Any = import_module("matplotlib")
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE}):
        canvas: Any = import_module("matplotlib.figure").Figure
        canvas_figure = canvas(figsize=(WIDTH, figure.height), dpi=DOTS_PER_INCH, layout="constrained")
        for number, panel in enumerate(figure.parts, start=1):
            panel(canvas_figure.add_subplot(1, len(figure.parts), number))
        stream = io.BytesIO()
        canvas_figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def _of_statistics(statistics: Statistics, report: QualityReport | None, *, numbers: str) -> Iterator[PlotSpec]:
    alt = "Sessions and state updates per user by period"
    panels: list[Panel] = [partial(_trajectory_panel, statistics)]
    if report and report.movement:
        alt += ", and which of their choices variables hold"
        panels.append(partial(_choice_shares_panel, report.movement))
    yield PlotSpec("course", numbers, f"{alt}.", tuple(panels))


def _of_report(report: QualityReport, *, numbers: str) -> Iterator[PlotSpec]:
    if report.shortcuts:
        alt = "Accuracy of ways to answer without memory, with 95 % intervals, beside guessing and the limit of each."
        height = 1.1 + 0.24 * len(report.shortcuts)
        yield PlotSpec("shortcuts", numbers, alt, (partial(shortcuts_panel, report.shortcuts),), height)


def _trajectory_panel(statistics: Statistics, axes: Axes) -> None:
    """Draw sessions and updates per user by period; the initial period updates nothing."""
    periods = range(len(statistics.sessions))
    updates = statistics.per_user(statistics.updates)
    axes.plot(periods, statistics.per_user(statistics.sessions), color=DARK, marker="o", markersize=4, label="sessions")
    axes.plot(periods[1:], updates[1:], color=BRIGHT, marker="s", markersize=4, label="state updates")
    axes.set(title="Sessions and updates per user", xlabel="period (0: the start)")
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend()


def shortcuts_panel(lines: Sequence[ShortcutLine], axes: Axes) -> None:
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


def _choice_shares_panel(movement: StateMovement, axes: Axes) -> None:
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
    axes.xaxis.get_major_locator().set_params(integer=True)
