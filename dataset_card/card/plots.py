"""The card's figures as PNG files: functions of the numbers alone, readable on light and dark pages.

They are no SVG as on the quality page, because a card is shown by many programs, and all of them show PNG.
"""

import io
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from assets.amemgym.records.episode import Episode
from assets.amemgym.records.report import QualityReport
from assets.llm.text import count_tokens
from dataset_card.card.example import Example, states_panel
from dataset_card.release.digests import canonical_digest
from validation.amemgym.report import figures as report_figures
from validation.amemgym.report.figures import BRIGHT, DARK

FIGURES = "figures"
DOTS_PER_INCH = 120
WIDTH, HEIGHT = 8.4, 3.0
STYLE: dict[str, Any] = {**report_figures.STYLE, "figure.facecolor": "white", "axes.titlepad": 10}
# matplotlib's axes, whose annotations are only partly known to type checkers.
Axes = Any
Panel = Callable[[Axes], None]
GROUND = "#e4e4e4"
# The shortest and the longest text that the paper's App. C.1 reports, in tokens.
PAPER_QUERIES, PAPER_ANSWERS = (13, 32), (39, 98)
BINS = 40
Means = tuple[float, ...]
# Pairs of a length in tokens and the number of texts that have it, from the shortest.
Histogram = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Statistics:
    """Means over users by period, 0 being the initial one, and the lengths of texts."""

    sessions: Means
    updates: Means
    queries: Histogram
    answers: Histogram


@dataclass
class StatisticsCounter:
    """Sums by period, and how often each length occurs."""

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

    def statistics(self) -> Statistics:
        """The means and histograms over all episodes that were added."""
        return Statistics(
            sessions=self._per_user(self.sessions),
            updates=self._per_user(self.updates),
            queries=tuple(sorted(self.queries.items())),
            answers=tuple(sorted(self.answers.items())),
        )

    def _per_user(self, counted: Counter[int]) -> Means:
        return tuple(counted[index] / self.users for index in range(len(self.sessions)))


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
    """All figures that release and report have numbers for, by name."""
    numbers = canonical_digest([asdict(statistics), report.model_dump(mode="json") if report else None])
    figures = list(_of_statistics(statistics, report, numbers=numbers))
    if example:
        alt = "The values of the question's state variables over the periods, for the user of the story."
        shown = canonical_digest([[name, list(values)] for name, values in example.states.items()])
        height = 1.2 + 0.36 * len(example.states)
        figures.append(PlotSpec("states", shown, alt, (partial(states_panel, example.states),), height))
    if report:
        figures += _of_report(report, numbers=numbers)
    return {figure.name: Plot(figure.name, figure.alt, draw(figure)) for figure in figures}


# A rerun writes the same release again, to compare it with the existing one.
@lru_cache(maxsize=32)
def draw(figure: PlotSpec) -> bytes:
    """Panels side by side. A user's own settings of matplotlib, its version and the clock stay out of the bytes."""
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
    motion = report.motion if report else None
    changes = (partial(report_figures.golden_changes, motion),) if motion else ()
    alt = "Sessions and state updates per user by period" + (
        ", and the share of right options that changed." if motion else "."
    )
    yield PlotSpec("course", numbers, alt, (partial(_trajectory_panel, statistics), *changes))
    alt = "Histograms of the lengths of session queries and of answers in tokens, beside the ranges in the paper."
    parts = partial(_queries_panel, statistics.queries), partial(_answers_panel, statistics.answers)
    yield PlotSpec("lengths", numbers, alt, parts)


def _of_report(report: QualityReport, *, numbers: str) -> Iterator[PlotSpec]:
    if report.wall:
        alt = "Accuracy of ways to answer without memory, with 95 % intervals, beside guessing and the limit of each."
        height = 1.1 + 0.24 * len(report.wall)
        yield PlotSpec("wall", numbers, alt, (partial(report_figures.shortcut_accuracies, report.wall),), height)
    if report.motion and report.places:
        alt = "Which of their choices variables hold, by period, and how often the option at each place is right."
        parts = partial(report_figures.choice_shares, report.motion), partial(report_figures.right_by_position, report.places)
        yield PlotSpec("balance", numbers, alt, parts)


def _trajectory_panel(statistics: Statistics, axes: Axes) -> None:
    """Sessions and updates per user by period; the initial period updates nothing."""
    periods = range(len(statistics.sessions))
    axes.plot(periods, statistics.sessions, color=DARK, marker="o", markersize=4, label="sessions")
    axes.plot(periods[1:], statistics.updates[1:], color=BRIGHT, marker="s", markersize=4, label="state updates")
    axes.set(title="Sessions and updates per user", xlabel="period (0: the start)")
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend()


def _queries_panel(histogram: Histogram, axes: Axes) -> None:
    _length_histogram(histogram, axes, paper=PAPER_QUERIES)
    axes.set_title("Session queries by length")


def _answers_panel(histogram: Histogram, axes: Axes) -> None:
    _length_histogram(histogram, axes, paper=PAPER_ANSWERS)
    axes.set_title("Answers by length")


def _length_histogram(histogram: Histogram, axes: Axes, *, paper: tuple[int, int]) -> None:
    lengths, counts = [length for length, _ in histogram], [count for _, count in histogram]
    least, most = min(*lengths, *paper), max(*lengths, *paper)
    width = max(1, (most - least) // BINS)
    axes.axvspan(*paper, color=GROUND, zorder=0)
    axes.hist(lengths, weights=counts, bins=range(least, most + 2 * width, width), color=DARK)
    axes.set(xlabel="tokens (grey: the range in the paper)", xlim=(least - width, most + 2 * width))
