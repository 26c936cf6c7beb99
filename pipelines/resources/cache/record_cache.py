"""Every finished item is stored the moment its stage is done, so that a killed run loses nothing."""

from pathlib import Path

from pipelines.resources.storage.key_value import KeyValueStore
from pipelines.resources.storage.open_database import open_database


class SqlRecordCache:
    """The RecordCache port over the installation's database. Raises StoreError when it cannot be used."""

    def __init__(self, path: Path) -> None:
        self._store = KeyValueStore(open_database(path), table="work")

    async def get(self, key: str) -> bytes | None:
        """The record stored under the key."""
        return await self._store.get(key)

    async def put(self, key: str, record: bytes) -> None:
        """Return when the record is on the disk; a record already there stays."""
        await self._store.put(key, record)

    def close(self) -> None:
        """Let go of the database; it opens again when next used."""
        self._store.close()
