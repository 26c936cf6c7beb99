"""The lines that every benchmark's quality report has, and the smallest such report."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from pydantic import Field

from assets.records.base import Name, Record
from assets.records.estimate import Estimate, with_interval


class RuleLine(Record):
    """One rule over the finished set; `examples` are its first violations, each with its item. `users` counts items."""

    stage: str
    rule: str
    truth: str
    blocking: bool
    users: int
    violations: int
    examples: tuple[str, ...] = ()


class GateLine(Record):
    """One gate over the finished set: how many items passed at once, after refining, after a new draft."""

    gate: str
    items: int
    readings: int
    passed_at_once: int
    passed_after_refining: int
    passed_after_redrafting: int


class ColumnLine(Record):
    """The outcome of an expectation about one column ("" for the table as a whole), over all rows of a released table.

    `expectation` is a sentence. `unexpected` counts the rows that contradict it, `sample` shows a bounded number of them, each
    as "key: value".
    """

    table: Name
    column: str
    expectation: str
    rows: int
    unexpected: int
    sample: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.unexpected == 0


class BenchmarkReport(Protocol):
    """The part of any benchmark's report that its checks and its page read."""

    @property
    def variant(self) -> str: ...

    @property
    def writer(self) -> str: ...

    @property
    def judges(self) -> Sequence[str]: ...

    @property
    def noun(self) -> str:
        """The word for one item, such as user."""
        ...

    @property
    def finished(self) -> int:
        """The number of items in the finished set."""
        ...

    @property
    def wanted(self) -> int:
        """The number of items that the recipe asks for."""
        ...

    @property
    def replaced(self) -> Mapping[str, int]:
        """Items that could not be finished, by stage and reason."""
        ...

    @property
    def replaced_because(self) -> Mapping[str, str]:
        """The most common message, by stage and reason."""
        ...

    @property
    def rules(self) -> Sequence[RuleLine]: ...

    @property
    def columns(self) -> Sequence[ColumnLine]: ...

    @property
    def exceeded_limits(self) -> Sequence[str]:
        """A sentence for each measurement beyond its limit; each blocks a release."""
        ...

    @property
    def unread(self) -> str:
        """A sentence where no judge read the labels, which the verdict then says; else empty."""
        ...

    def sha256(self) -> str: ...


STANDARD_SHARE = "10 %"  # of a history, which a memory may give back


class CheapReaderLine(Record):
    """The share of questions for which a reader without a reasoner keeps all needed texts, by the share of the history kept.

    `cheap`: it is not given the needed texts themselves.
    """

    reader: str
    cheap: bool
    found: dict[str, Estimate]


class MinimalReport(Record):
    """The report of a benchmark that measures nothing of its own: counts, rules, columns, gates, replaced items."""

    variant: str = Field(description="the benchmark variant")
    noun: str = Field(description="what one item is called")
    wanted: int = Field(description="as many items as the recipe says")
    finished: int = Field(description="items in the finished set")
    replaced: dict[str, int] = Field(description="items that could not be finished, by stage and reason")
    replaced_because: dict[str, str] = Field(
        default_factory=dict[str, str], description="the most common message, by stage and reason"
    )
    gates: tuple[GateLine, ...] = ()
    rules: tuple[RuleLine, ...] = ()
    columns: tuple[ColumnLine, ...] = Field(default=(), description="expectations about columns of the released tables")
    writer: str = Field(default="", description="the model that wrote")
    judges: tuple[str, ...] = Field(default=(), description="the models that judged")
    cheap_readers: tuple[CheapReaderLine, ...] = Field(
        default=(), description="how often readers without a reasoner find all that is needed"
    )
    max_found_cheaply: float = Field(
        default=1, description=f"how often one of them may, of {STANDARD_SHARE} of a history; 1: nothing is asked"
    )

    @property
    def exceeded_limits(self) -> tuple[str, ...]:
        """A sentence for each cheap reader that finds too much, and one where needed texts do not fit."""
        found: list[str] = []
        if self.max_found_cheaply == 1:
            return ()
        for line in self.cheap_readers:
            share = line.found[STANDARD_SHARE]
            value = share.value if share.value is not None else 1.0
            if line.cheap and value > self.max_found_cheaply:
                found.append(
                    f"All that is needed is found in {STANDARD_SHARE} of the history by {line.reader}: {with_interval(share)}; "
                    f"{self.max_found_cheaply:g} is the most."
                )
            if not line.cheap and value < 1:
                found.append(f"Needed texts fit into {STANDARD_SHARE} of the history in only {with_interval(share)}.")
        return tuple(found)

    @property
    def unread(self) -> str:
        return ""
