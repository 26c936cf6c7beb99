"""What a table promises of its columns, and how far the rows keep it."""

from assets.records.base import Name, Record


class ColumnLine(Record):
    """One promise about one column ("" for the table as a whole), over all rows looked at.

    `unexpected` counts the rows that break it, `sample` shows a bounded number of them, each as "key: value".
    """

    table: Name
    column: str
    promise: str
    rows: int
    unexpected: int
    sample: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """True when no row breaks the promise."""
        return self.unexpected == 0
