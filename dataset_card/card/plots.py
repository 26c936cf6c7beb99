"""The card's figures as PNG files: functions of the numbers alone, readable on light and dark pages.

They are no SVG as on the quality page, because a card is shown in many places and PNG in all of them.
"""

import io
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from importlib import import_module
from typing import Any

from assets.amemgym.records.report import QualityReport
from dataset_card.card import panels
from dataset_card.card.statistics import Statistics
from dataset_card.release.digests import canonical_digest
from validation.amemgym.report import figures as report_figures

FIGURES = "figures"
DOTS_PER_INCH = 120
WIDTH, HEIGHT = 8.4, 3.0
STYLE: dict[str, Any] = {**report_figures.STYLE, "figure.facecolor": "white", "axes.titlepad": 10}


@dataclass(frozen=True)
class Plot:
    """A figure of the card: its file's name, what it shows in words, and its bytes."""

    name: str
    alt: str
    png: bytes

    @property
    def path(self) -> str:
        """Where it lies in a release: beside the card, there as on the Hub."""
        return f"{FIGURES}/{self.name}.png"


@dataclass(frozen=True)
class Sketch:
    """A figure before it is drawn. Two are equal when name and numbers are."""

    name: str
    numbers: str
    alt: str
    parts: tuple[panels.Panel, ...] = field(compare=False)
    height: float = HEIGHT


def plots(statistics: Statistics, report: QualityReport | None) -> dict[str, Plot]:
    """All figures that there are numbers for, by name."""
    numbers = canonical_digest([asdict(statistics), report.model_dump(mode="json") if report else None])
    sketches = list(_of_statistics(statistics, report, numbers=numbers))
    if report:
        sketches += _of_report(report, numbers=numbers)
    return {sketch.name: Plot(sketch.name, sketch.alt, drawn(sketch)) for sketch in sketches}


# A rerun writes the same release again, to compare it with the one that is there.
@lru_cache(maxsize=32)
def drawn(sketch: Sketch) -> bytes:
    """Panels side by side. A user's own settings of matplotlib, its version and the clock stay out of the bytes."""
    # Takes a second, and its annotations are only partly known to type checkers.
    matplotlib: Any = import_module("matplotlib")
    with matplotlib.rc_context({**matplotlib.rcParamsDefault, **STYLE}):
        canvas: Any = import_module("matplotlib.figure").Figure
        figure = canvas(figsize=(WIDTH, sketch.height), dpi=DOTS_PER_INCH, layout="constrained")
        for number, panel in enumerate(sketch.parts, start=1):
            panel(figure.add_subplot(1, len(sketch.parts), number))
        stream = io.BytesIO()
        figure.savefig(stream, format="png", metadata={"Software": None})
    return stream.getvalue()


def _of_statistics(statistics: Statistics, report: QualityReport | None, *, numbers: str) -> Iterator[Sketch]:
    motion = report.motion if report else None
    changes = (partial(report_figures.golden_changes, motion),) if motion else ()
    alt = "Sessions and state updates per user by period" + (
        ", and the share of right options that changed." if motion else "."
    )
    yield Sketch("course", numbers, alt, (partial(panels.course, statistics), *changes))
    alt = "Histograms of the lengths of session queries and of answers in tokens, beside the ranges in the paper."
    parts = partial(panels.queries, statistics.queries), partial(panels.answers, statistics.answers)
    yield Sketch("lengths", numbers, alt, parts)


def _of_report(report: QualityReport, *, numbers: str) -> Iterator[Sketch]:
    if report.wall:
        alt = "Accuracy of ways to answer without memory, with 95 % intervals, beside guessing and the limit of each."
        height = 1.1 + 0.24 * len(report.wall)
        yield Sketch("wall", numbers, alt, (partial(report_figures.shortcut_accuracies, report.wall),), height)
    if report.motion and report.places:
        alt = "Which of their choices variables hold, by period, and how often the option at each place is right."
        parts = partial(report_figures.choice_shares, report.motion), partial(report_figures.right_by_position, report.places)
        yield Sketch("balance", numbers, alt, parts)
