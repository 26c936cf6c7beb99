"""Numbers, names and tables as readers see them."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

from assets.records.estimate import Estimate


def headed_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; bars in its cells are escaped."""
    lines = [_line(head), _line(["---"] * len(head))]
    for row in rows:
        # A bar would begin another cell.
        lines.append(_line([cell.replace("|", "\\|") for cell in row]))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def format_estimate(estimate: Estimate, *, digits: int = 3, missing: str = "-") -> str:
    """The number with its 95 % interval, as in .412 [.350, .471]."""
    if estimate.value is None:
        return missing
    value = format_number(estimate.value, digits=digits)
    if estimate.low is None or estimate.high is None:
        return value
    low = format_number(estimate.low, digits=digits)
    high = format_number(estimate.high, digits=digits)
    if low == value == high:  # all users alike, as where calls cost nothing
        return value
    return f"{value} [{low}, {high}]"


def format_number(value: float | None, *, digits: int = 3) -> str:
    """A number in few characters; large ones without decimals."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    # Halves go away from 0, as the pages' JavaScript rounds them.
    text = str(Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP))
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def metric_label(name: str) -> str:
    """A metric's name for a reader."""
    return name.replace("_", " ")


def meanings_note(meanings: Mapping[str, str]) -> str:
    """Return each name with its meaning, as sentences."""
    return " ".join(f"{metric_label(name).capitalize()}: {meaning}." for name, meaning in meanings.items())
