"""What a quality report has of tasks with documents in turns: ablation, lengths, and how alike support and filler are."""

from pydantic import Field

from assets.records.base import Record
from assets.records.estimate import Estimate, shown
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


class MemoryItemsReport(MinimalReport):
    """The report of tasks with documents in turns."""

    tokenizer: str = Field(description="what lengths are counted by")
    conditions: tuple[ConditionLine, ...] = ()
    lengths: tuple[LengthLine, ...] = ()
    length_tolerance: float
    auroc: Estimate | None = Field(
        default=None, description="how well a bag of words tells support from filler; none of few tasks"
    )
    max_auroc: float
    answers: dict[str, int] = Field(default_factory=dict[str, int], description="tasks by kind of answer")
    hops: dict[str, int] = Field(default_factory=dict[str, int], description="tasks by number of hops")
    licenses: dict[str, int] = Field(default_factory=dict[str, int], description="documents by license")

    @property
    def exceeded_limits(self) -> tuple[str, ...]:
        """A sentence for each measurement beyond its limit. One of few tasks counts from where its interval begins."""
        found: list[str] = []
        if self.auroc is not None and (self.auroc.low or 0) > self.max_auroc:
            found.append(
                f"A bag of words tells support from filler with an area of {shown(self.auroc)}; {self.max_auroc:g} is the most."
            )
        for line in self.lengths:
            room = line.target_tokens * self.length_tolerance
            if line.target_tokens - line.shortest > room or line.longest - line.target_tokens > room:
                found.append(f"Tasks of {line.target_tokens} tokens have from {line.shortest} to {line.longest}.")
        return tuple(found)
