"""The card's figures as PNG files: functions of the numbers alone, readable on light and dark pages.

They are no SVG as on the quality page, because a card is shown by many programs, and all of them show PNG.
"""

import io
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import QualityReport
from assets.text.words import count_tokens
from dataset_card.amemgym.example import Example, states_panel
from dataset_card.release.digests import canonical_digest
from validation.amemgym.report import figures as report_figures
from validation.amemgym.report.figures import BRIGHT, DARK

FIGURES = "figures"
DOTS_PER_INCH = 120
# In inches.
WIDTH = 8.4
HEIGHT = 3.0
STYLE: dict[str, Any] = {**report_figures.STYLE, "figure.facecolor": "white", "axes.titlepad": 10}
# matplotlib's axes, whose annotations are only partly known to type checkers.
Axes = Any
Panel = Callable[[Axes], None]
GROUND = "#e4e4e4"
# The shortest and the longest text that the paper's App. C.1 reports, in tokens.
PAPER_QUERIES = (13, 32)
PAPER_ANSWERS = (39, 98)
BINS = 40


@dataclass
class Statistics:
    """Sums over users by period, 0 being the initial one, and how many texts have each length in tokens."""

    users: int = 0
    sessions: Counter[int] = field(default_factory=Counter[int])
    updates: Counter[int] = field(default_factory=Counter[int])
    queries: Counter[int] = field(default_factory=Counter[int])
    answers: Counter[int] = field(default_factory=Counter[int])

    def add(self, episode: Episode) -> None:
        self.users += 1
        for index, period in enumerate(episode.periods):
            self.sessions[index] += len(period.sessions)
            self.updates[index] += len(period.updates)
            self.queries.update(count_tokens(session.query) for session in period.sessions)
        for question in episode.questions:
            self.answers.update(count_tokens(choice.answer) for choice in question.answer_choices)

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


def plots(statistics: Statistics, report: QualityReport | None, *, example: Example | None = None) -> dict[str, Plot]:
    """Draw all figures that release and report have numbers for, by name."""
    numbers = canonical_digest([vars(statistics), report.model_dump(mode="json") if report else None])
    figures = list(_of_statistics(statistics, report, numbers=numbers))
    if example:
        alt = "The values of the question's state variables over the periods, for the user of the story."
        states = canonical_digest(list(example.states.items()))
        height = 1.2 + 0.36 * len(example.states)
        figures.append(PlotSpec("states", states, alt, (partial(states_panel, example.states),), height))
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
        panels.append(partial(report_figures.draw_choice_shares, report.movement))
    yield PlotSpec("course", numbers, f"{alt}.", tuple(panels))
    alt = "Histograms of the lengths of session queries and of answers in tokens, beside the ranges in the paper."
    queries = partial(_lengths_panel, statistics.queries, "Session queries by length", PAPER_QUERIES)
    answers = partial(_lengths_panel, statistics.answers, "Answers by length", PAPER_ANSWERS)
    yield PlotSpec("lengths", numbers, alt, (queries, answers))


def _of_report(report: QualityReport, *, numbers: str) -> Iterator[PlotSpec]:
    if report.shortcuts:
        alt = "Accuracy of ways to answer without memory, with 95 % intervals, beside guessing and the limit of each."
        height = 1.1 + 0.24 * len(report.shortcuts)
        yield PlotSpec("shortcuts", numbers, alt, (partial(report_figures.draw_shortcut_accuracies, report.shortcuts),), height)


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


def _lengths_panel(counted: Counter[int], title: str, paper: tuple[int, int], axes: Axes) -> None:
    """Draw how many texts have each length, before the range in the paper."""
    lengths, counts = zip(*sorted(counted.items()), strict=True)
    least = min(*lengths, *paper)
    most = max(*lengths, *paper)
    width = max(1, (most - least) // BINS)
    axes.axvspan(*paper, color=GROUND, zorder=0)
    axes.hist(lengths, weights=counts, bins=range(least, most + 2 * width, width), color=DARK)
    axes.set(title=title, xlabel="tokens (grey: the range in the paper)", xlim=(least - width, most + 2 * width))
