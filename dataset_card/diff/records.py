"""What changed between two releases, as a record: all that the table, the page and the card show."""

from typing import Literal

from pydantic import Field

from assets.records.base import Record
from dataset_card.release.versions import LEVELS, Level

ChangeKind = Literal["label", "words"]


class ReleaseIdentity(Record):
    """One of the two releases. `version` None: not released yet; `data_digest` is over its rows alone."""

    variant: str
    version: str | None
    data_digest: str

    @property
    def name(self) -> str:
        """How it is called in a text."""
        return f"{self.variant} {self.version}" if self.version else f"the new {self.variant}"


class CellChange(Record):
    """One value of a row that is in both; before and after are text, JSON where they are lists."""

    column: str
    kind: ChangeKind
    before: str
    after: str


class RowChange(Record):
    """A row that is in both releases with other values; `key` names it within its table."""

    key: dict[str, str | int]
    cells: tuple[CellChange, ...]


class TableChange(Record):
    """One table: rows before and after, how many came, went, have other labels, or only other words.

    `relabelled` rows may have other words too. `examples` are the first of the changed rows, labels before words.
    """

    table: str
    before: int = 0
    after: int = 0
    added: int = 0
    removed: int = 0
    relabelled: int = 0
    reworded: int = 0
    examples: tuple[RowChange, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether any row came, went or changed."""
        return bool(self.added or self.removed or self.relabelled or self.reworded)


class MetricChange(Record):
    """One figure of both releases; None where a release does not have it."""

    figure: str
    before: float | None
    after: float | None


class SettingChange(Record):
    """A field of the recipe, a model, a prompt, or the program, with other text than before."""

    name: str
    before: str
    after: str


class VersionReason(Record):
    """Why a version has to grow: at least this much, because of this."""

    level: Level
    because: str


class ReleaseDiff(Record):
    """All differences. Counts are exact; examples and ids of users are the first in the order of their keys."""

    before: ReleaseIdentity
    after: ReleaseIdentity
    reasons: tuple[VersionReason, ...]
    users_added: tuple[str, ...] = ()
    users_removed: tuple[str, ...] = ()
    tables: tuple[TableChange, ...] = ()
    statistics: tuple[MetricChange, ...] = ()
    quality: tuple[MetricChange, ...] = ()
    settings: tuple[SettingChange, ...] = ()
    files: tuple[str, ...] = Field(default=(), description="files without rows that differ, came or went")

    @property
    def level(self) -> Level:
        """Which number of the version has to grow."""
        return LEVELS[max((LEVELS.index(reason.level) for reason in self.reasons), default=0)]

    @property
    def reason(self) -> str:
        """The first reason of the greatest weight; nothing when they are the same."""
        return next((reason.because for reason in self.reasons if reason.level == self.level), "")
