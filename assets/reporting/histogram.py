"""Numbers of a stage's items at a glance, for the metadata of a materialization."""

from collections import Counter
from collections.abc import Sequence

BARS = "▁▂▃▄▅▆▇█"
BINS = 12  # as many as fit into a row of Dagster's metadata
DIGITS = 3


def histogram(numbers: Sequence[int], *, unit: str) -> str:
    """Return the least number, how many fall into each of at most twelve equal bins, the greatest, and their mean."""
    if not numbers:
        return "none"
    least = min(numbers)
    most = max(numbers)
    width = max(1, -(-(most - least + 1) // BINS))
    counts = Counter((number - least) // width for number in numbers)
    top = max(counts.values())
    bins = (most - least) // width + 1
    bars = "".join(_bar(counts[index], top) for index in range(bins))
    return f"{least} {bars} {most} {unit}, mean {rounded_mean(numbers):.3g}"


def _bar(count: int, top: int) -> str:
    if not count:
        return "\N{FIGURE SPACE}"
    return BARS[-(-count * len(BARS) // top) - 1]


def rounded_mean(numbers: Sequence[float]) -> float:
    """Return the mean to three digits; 0 of nothing."""
    return round(sum(numbers) / max(1, len(numbers)), DIGITS)
