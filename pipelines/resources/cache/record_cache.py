"""Every finished item is stored the moment its stage is done, so that a killed run loses nothing."""

from pathlib import Path

from assets.records.readable import is_readable_json
from pipelines.resources.cache.reply_cache import NOWHERE, Place, key_at
from pipelines.resources.storage.key_value import KeyValueStore
from pipelines.resources.storage.open_database import open_database


class SqlRecordCache:
    """The RecordCache port over the installation's database. Raises StoreError when it cannot be used.

    What another address has made is not found: it is made again, from replies, which say exactly who gave them.
    """

    def __init__(self, path: Path, *, place: Place = NOWHERE) -> None:
        self._store = KeyValueStore(open_database(path), table="work", checked=True)
        self._address = place.address

    async def get(self, key: str) -> bytes | None:
        """Return the record stored under the key; one with characters that no check lets through is made again."""
        own = key_at(self._address, key)
        stored = await self._store.get(own)
        if stored is None:
            return None
        record = stored.decode(errors="replace").partition("\n")[2]  # before it stands what it took
        if is_readable_json(record):
            return stored
        await self._store.drop(own)
        return None

    async def put(self, key: str, record: bytes) -> None:
        """Return when the record is on the disk; a record already there stays."""
        await self._store.put(key_at(self._address, key), record)

    def close(self) -> None:
        """Let go of the database; it opens again when next used."""
        self._store.close()
