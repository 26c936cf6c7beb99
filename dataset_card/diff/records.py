"""The difference of two releases as a record: all that the terminal, the page and the card show."""

from typing import Literal

from pydantic import Field

from assets.records.base import Record
from dataset_card.release.versions import Level, highest_level

ChangeKind = Literal["label", "note"]


class DiffError(ValueError):
    """Two releases that cannot be compared; the message is one sentence."""


class ReleaseIdentity(Record):
    """One of the two releases. `version` None: not released yet; `data_digest` is over its rows alone."""

    variant: str
    version: str | None
    data_digest: str
    previous: str | None = None

    @property
    def name(self) -> str:
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
    """One table: rows before and after, how many came, went, or changed.

    `relabelled` rows differ in something that an assistant reads or is scored on, `annotated` ones only in columns that no
    assistant reads. `examples` are the first of the changed rows, in this order.
    """

    table: str
    scored: bool = True
    before: int = 0
    after: int = 0
    added: int = 0
    removed: int = 0
    relabelled: int = 0
    annotated: int = 0
    examples: tuple[RowChange, ...] = ()

    @property
    def changed(self) -> bool:
        return bool(self.added or self.removed or self.changed_rows)

    @property
    def changed_rows(self) -> int:
        """The number of rows that are in both releases with other values."""
        return self.relabelled + self.annotated


class SettingChange(Record):
    """A field of the recipe, a model, a prompt, or the program, with other text than before."""

    name: str
    before: str
    after: str


class VersionReason(Record):
    """A level at which the version has to grow at least, and the reason for it."""

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
    settings: tuple[SettingChange, ...] = ()
    files: tuple[str, ...] = Field(default=(), description="files without rows that differ, came or went")

    @property
    def level(self) -> Level:
        return highest_level(reason.level for reason in self.reasons)

    @property
    def reason(self) -> str:
        """The first reason of the greatest weight; empty when they are the same."""
        for reason in self.reasons:
            if reason.level == self.level:
                return reason.because
        return ""
