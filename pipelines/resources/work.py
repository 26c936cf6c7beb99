"""Where every finished user is kept the moment its stage is done, so that a killed run loses nothing."""

from pathlib import Path

from pipelines.resources.keyed_store import KeyedStore


class SqliteWork:
    """The WorkStore port over one SQLite file. Raises StoreError when the file cannot be used."""

    def __init__(self, path: Path) -> None:
        self._store = KeyedStore(path, table="work")

    async def get(self, key: str) -> bytes | None:
        """The record stored under the key."""
        return await self._store.get(key)

    async def put(self, key: str, record: bytes) -> None:
        """Return when the record is on the disk; a record already there stays."""
        await self._store.put(key, record)

    def close(self) -> None:
        """Let go of the file; it opens again when next used."""
        self._store.close()
