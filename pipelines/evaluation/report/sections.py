"""What reports are made of: sections with sentences, tables and charts, once for Markdown, terminal and page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from assets.records.estimate import Estimate


@dataclass(frozen=True)
class ReportTable:
    """A table; estimates are shown with so many digits, and as `missing` where they do not exist.

    `whiskers`: the page draws each estimate's interval between 0 and 1 beside it.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str | Estimate]]
    digits: int = 3
    missing: str = "-"
    whiskers: bool = False


@dataclass(frozen=True)
class PeriodSeries:
    """Metrics by period; on the page a heat map whose cells open their answers."""

    metrics: Mapping[str, Sequence[Estimate]]


@dataclass(frozen=True)
class LineChart:
    """Shares between 0 and 1 as lines by their labels, points of each from left to right; on the page alone."""

    x: str
    y: str
    lines: Mapping[str, Sequence[tuple[float, Estimate]]]


Block = str | ReportTable | PeriodSeries | LineChart


@dataclass(frozen=True)
class ReportSection:
    """A section; `key` names it in the page's address."""

    key: str
    title: str
    blocks: Sequence[Block]
