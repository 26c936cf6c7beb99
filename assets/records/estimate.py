"""A measured share or mean with its interval."""

from assets.records.base import Record

SPACE = "\N{NO-BREAK SPACE}"
# Between two scores, for a quotient over their difference: over less, noise of the difference alone would decide.
LEAST_ROOM = 0.1
FEWEST_ITEMS = 8  # of which an interval can be believed; resampling of fewer knows too little of how they differ
ROUGH = "*"
ROUGH_NOTE = f"{ROUGH} An interval over fewer than {FEWEST_ITEMS} {{noun}}s is rough."


class Estimate(Record):
    """A number with its 95 % interval; None: it does not exist (nothing to divide by, or a single user)."""

    value: float | None
    low: float | None
    high: float | None


def with_interval(estimate: Estimate) -> str:
    """A share with its interval, as in 0.25 (0.21 to 0.29)."""
    if estimate.value is None:
        return "-"
    ends = "" if estimate.low is None or estimate.high is None else f" ({estimate.low:.2f} to {estimate.high:.2f})"
    return f"{estimate.value:.2f}{ends}"


def percent(share: float | None) -> str:
    """A share as percent with one decimal, as in 25.1 %."""
    return "-" if share is None else f"{100 * share:.1f}{SPACE}%"


def percents(estimate: Estimate | None, *, items: int = FEWEST_ITEMS) -> str:
    """A share with its interval in percent, as in 25.1 % (21.0 to 29.4); an interval over few `items` is marked."""
    if estimate is None or estimate.value is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return percent(estimate.value)
    rough = ROUGH if items < FEWEST_ITEMS else ""
    return f"{percent(estimate.value)} ({100 * estimate.low:.1f}{SPACE}to{SPACE}{100 * estimate.high:.1f}){rough}"


def rough_note(items: int, noun: str) -> str:
    """Return the meaning of the mark at intervals; empty where there are enough items."""
    return ROUGH_NOTE.format(noun=noun) if 0 < items < FEWEST_ITEMS else ""
