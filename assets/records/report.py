"""The quality report of a finished variant, as a record."""

from assets.records.base import Record


class Spread(Record):
    """Smallest, mean and greatest value of something counted; `unit` says of what."""

    unit: str
    least: float
    mean: float
    most: float


class RuleLine(Record):
    """One rule over the finished set."""

    stage: str
    rule: str
    truth: str
    blocking: bool
    users: int
    violations: int


class GateLine(Record):
    """One gate over the finished set: how many items passed at once, after refining, after a new draft."""

    gate: str
    items: int
    readings: int
    passed_at_once: int
    passed_after_refining: int
    passed_after_redrafting: int


class QualityReport(Record):
    """Counts beside the paper's Table 4 and App. C.1, gates, rules, and who had to be replaced.

    `golden_changes` is the share of (question, period) pairs whose golden answer differs from the period before.
    """

    variant: str
    users_wanted: int
    counts: dict[str, int]
    lengths: dict[str, Spread]
    turns_per_user: float
    golden_changes: float
    replaced: dict[str, int]
    gates: tuple[GateLine, ...]
    rules: tuple[RuleLine, ...]

    @property
    def users(self) -> int:
        """Users finished."""
        return self.counts["users"]
