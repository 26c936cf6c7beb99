"""The parts of the card's figures that the quality report does not have: what the statistics show."""

from collections.abc import Callable
from typing import Any

from dataset_card.card.statistics import Histogram, Statistics
from validation.amemgym.report.figures import BRIGHT, DARK

# matplotlib's axes, whose annotations are only partly known to type checkers.
Axes = Any
Panel = Callable[[Axes], None]
GROUND = "#e4e4e4"
# The shortest and the longest text that the paper's App. C.1 reports, in tokens.
PAPER_QUERIES, PAPER_ANSWERS = (13, 32), (39, 98)
BINS = 40


def course(statistics: Statistics, axes: Axes) -> None:
    """Sessions and updates per user by period; the initial period updates nothing."""
    periods = range(len(statistics.sessions))
    axes.plot(periods, statistics.sessions, color=DARK, marker="o", markersize=4, label="sessions")
    axes.plot(periods[1:], statistics.updates[1:], color=BRIGHT, marker="s", markersize=4, label="state updates")
    axes.set(title="Sessions and updates per user", xlabel="period (0: the start)")
    axes.set_ylim(bottom=0)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.legend()


def queries(histogram: Histogram, axes: Axes) -> None:
    """Lengths of session queries."""
    _lengths(histogram, axes, paper=PAPER_QUERIES)
    axes.set_title("Session queries by length")


def answers(histogram: Histogram, axes: Axes) -> None:
    """Lengths of all options' answers."""
    _lengths(histogram, axes, paper=PAPER_ANSWERS)
    axes.set_title("Answers by length")


def _lengths(histogram: Histogram, axes: Axes, *, paper: tuple[int, int]) -> None:
    lengths, counts = [length for length, _ in histogram], [count for _, count in histogram]
    least, most = min(*lengths, *paper), max(*lengths, *paper)
    width = max(1, (most - least) // BINS)
    axes.axvspan(*paper, color=GROUND, zorder=0)
    axes.hist(lengths, weights=counts, bins=range(least, most + 2 * width, width), color=DARK)
    axes.set(xlabel="tokens (grey: the range in the paper)", xlim=(least - width, most + 2 * width))
