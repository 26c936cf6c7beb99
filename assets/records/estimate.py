"""A measured share or mean with its interval."""

from assets.records.base import Record


class Estimate(Record):
    """A number with its 95 % interval; None: it does not exist (nothing to divide by, or a single user)."""

    value: float | None
    low: float | None
    high: float | None
