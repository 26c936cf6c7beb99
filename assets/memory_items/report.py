"""The quality report of tasks with documents in turns: ablation, lengths, and how alike support and filler are."""

from pydantic import Field

from assets.records.base import Record
from assets.records.estimate import Estimate, with_interval
from assets.records.report import MinimalReport


class ConditionLine(Record):
    """Readings of one condition over all tasks that came to it: the share that were right, with its interval over tasks."""

    condition: str
    expected: str
    tasks: int
    readings: int
    right: Estimate
    errors: int


class LengthLine(Record):
    """The tasks at one length: the shortest and the longest of them by what a memory receives, and their documents."""

    target_tokens: int
    tasks: int
    shortest: int
    longest: int
    turns: float
    documents: float


class ArrivalLine(Record):
    """The share of tasks whose documents disagree that are solved by believing what came first, or what came last."""

    rule: str
    tasks: int
    right: Estimate


class MemoryItemsReport(MinimalReport):
    """The report of tasks with documents in turns."""

    tokenizer: str = Field(description="what lengths are counted by")
    conditions: tuple[ConditionLine, ...] = ()
    lengths: tuple[LengthLine, ...] = ()
    length_tolerance: float
    told_apart: dict[str, Estimate] = Field(
        default_factory=dict[str, Estimate],
        description="how well support is told from filler at the length where it is told best; nothing of few tasks",
    )
    max_auroc: float
    arrival: tuple[ArrivalLine, ...] = ()
    arrival_gap: Estimate | None = Field(
        default=None, description="by how much more often what came first is right than what came last"
    )
    answers: dict[str, int] = Field(default_factory=dict[str, int], description="tasks by kind of answer")
    operations: dict[str, int] = Field(default_factory=dict[str, int], description="tasks by what they ask of their facts")
    hops: dict[str, int] = Field(default_factory=dict[str, int], description="tasks by number of hops")
    licenses: dict[str, int] = Field(default_factory=dict[str, int], description="documents by license")

    @property
    def exceeded_limits(self) -> tuple[str, ...]:
        """A sentence for each measurement beyond its limit. One of few tasks counts from where its interval begins."""
        found = list(super().exceeded_limits)
        for name, area in self.told_apart.items():
            if (area.low or 0) > self.max_auroc:
                measured = with_interval(area)
                found.append(f"Support is told from filler by {name}: area {measured}; {self.max_auroc:g} is the most.")
        gap = self.arrival_gap
        if gap is not None and not (gap.low or 0) <= 0 <= (gap.high or 0):
            found.append(
                f"Of documents that disagree, what came first is right more often than what came last by {with_interval(gap)}; "
                "neither may be right more often."
            )
        for line in self.lengths:
            room = line.target_tokens * self.length_tolerance
            if line.target_tokens - line.shortest > room or line.longest - line.target_tokens > room:
                found.append(f"Tasks of {line.target_tokens} tokens have from {line.shortest} to {line.longest}.")
        return tuple(found)
