"""What every store raises when it cannot be used."""

from assets.engine.ports import UnreadableValue


class StoreError(OSError):
    """A database, folder or object store cannot be used; one sentence names it and says what to do."""


class OtherVersion(UnreadableValue):
    """The value is whole, but another version of this program wrote it."""
