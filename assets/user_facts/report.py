"""The quality report of user facts: what readers of the sessions answer, by kind of question, and by ways to guess."""

from pydantic import Field

from assets.records.base import Record
from assets.records.estimate import Estimate, with_interval
from assets.records.report import MinimalReport


class ReaderLine(Record):
    """The share of questions of a kind that a reader answers rightly; `group` is its kind, "all" over all kinds."""

    reader: str
    group: str
    questions: int
    right: Estimate


class UserFactsReport(MinimalReport):
    """The report of user facts."""

    readers: tuple[ReaderLine, ...] = ()
    guesses: dict[str, Estimate] = Field(
        default_factory=dict[str, Estimate], description="share right by a guess that reads no session"
    )
    max_not_known: float = Field(description="share that may be right by always saying that it is not known")

    @property
    def exceeded_limits(self) -> tuple[str, ...]:
        """A sentence for each guess that pays: its whole interval lies above what is allowed."""
        found = list(super().exceeded_limits)
        for name, share in self.guesses.items():
            if (share.low or 0) > self.max_not_known:
                found.append(f"Guessing by {name} is right in {with_interval(share)}; {self.max_not_known:g} is the most.")
        return tuple(found)
