"""What every store raises when it cannot be used."""


class StoreError(OSError):
    """A database, folder or object store cannot be used; one sentence names it and says what to do."""
