"""Figures of the report as words."""

from assets.records.estimate import Estimate

SPACE = "\N{NO-BREAK SPACE}"


def percent(share: float | None) -> str:
    """A share as percent with one decimal."""
    return "-" if share is None else f"{100 * share:.1f}{SPACE}%"


def percents(estimate: Estimate | None) -> str:
    """A share with its interval in percent, as in 25.1 % (21.0 to 29.4)."""
    if estimate is None or estimate.value is None:
        return "-"
    ends = (
        ""
        if estimate.low is None or estimate.high is None
        else f" ({100 * estimate.low:.1f}{SPACE}to{SPACE}{100 * estimate.high:.1f})"
    )
    return f"{percent(estimate.value)}{ends}"
