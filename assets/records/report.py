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
    """Counts beside the paper's Table 4 and App. C.1, gates, rules, and who had to be replaced."""

    variant: str
    users_wanted: int
    users: int
    periods: int
    sessions: int
    questions: int
    variables: int
    query_tokens: Spread
    answer_tokens: Spread
    options_per_question: Spread
    sessions_per_period: Spread
    golden_changes: float
    replaced: dict[str, int]
    gates: tuple[GateLine, ...]
    rules: tuple[RuleLine, ...]
