"""A measured share or mean with its interval."""

from assets.records.base import Record


class Estimate(Record):
    """A number with its 95 % interval; None: it does not exist (nothing to divide by, or a single user)."""

    value: float | None
    low: float | None
    high: float | None


def shown(estimate: Estimate) -> str:
    """A share with its interval, as in 0.25 (0.21 to 0.29)."""
    if estimate.value is None:
        return "-"
    ends = "" if estimate.low is None or estimate.high is None else f" ({estimate.low:.2f} to {estimate.high:.2f})"
    return f"{estimate.value:.2f}{ends}"
