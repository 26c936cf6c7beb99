"""A measured share or mean with its interval."""

from assets.records.base import Record

SPACE = "\N{NO-BREAK SPACE}"
# Between two scores, for a quotient over their difference: over less, noise of the difference alone would decide.
LEAST_ROOM = 0.1
FEWEST_USERS = 6  # of which an interval is given: fewer say too little of how much users differ


class Estimate(Record):
    """A number with its 95 % interval; None: it does not exist (nothing to divide by, or too few users)."""

    value: float | None
    low: float | None
    high: float | None


NOTHING = Estimate(value=None, low=None, high=None)


def interval_note(users: int, noun: str) -> str:
    """Return the sentence on intervals over so many users, or whatever the noun says."""
    if users < FEWEST_USERS:
        return f"There are no intervals: fewer than {FEWEST_USERS} {noun}s do not show how much {noun}s differ."
    return f"Brackets hold 95 % intervals over {noun}s (Student's t; of a share, Wilson's form of it)."


def with_interval(estimate: Estimate) -> str:
    """A share with its interval, as in 0.25 (0.21 to 0.29)."""
    if estimate.value is None:
        return "-"
    ends = "" if estimate.low is None or estimate.high is None else f" ({estimate.low:.2f} to {estimate.high:.2f})"
    return f"{estimate.value:.2f}{ends}"


def percent(share: float | None) -> str:
    """A share as percent with one decimal, as in 25.1 %."""
    return "-" if share is None else f"{100 * share:.1f}{SPACE}%"


def percents(estimate: Estimate | None) -> str:
    """A share with its interval in percent, as in 25.1 % (21.0 to 29.4)."""
    if estimate is None or estimate.value is None:
        return "-"
    if estimate.low is None or estimate.high is None:
        return percent(estimate.value)
    return f"{percent(estimate.value)} ({100 * estimate.low:.1f}{SPACE}to{SPACE}{100 * estimate.high:.1f})"
