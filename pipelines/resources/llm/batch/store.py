"""Batch jobs that are meant, sent and ended, and the replies they brought: stored before anything is done.

A line is in one open job at most, whatever processes and runs there are, so that nobody sends it twice. A reply stays
here until the reply cache has it.
"""

import hashlib
from collections.abc import Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from assets.llm.ports import ModelReply
from pipelines.home import Home
from pipelines.resources.cache.reply_cache import REPLY
from pipelines.resources.storage.database import Connection
from pipelines.resources.storage.key_value import KeyValueStore
from pipelines.resources.storage.open_database import open_database

TABLE = "jobs"
REPLIES = "replies"
COLUMNS = {"ids": "TEXT", "place": "TEXT", "tried": "INTEGER", "batch_id": "TEXT", "ended": "INTEGER"}
ADD = f"INSERT INTO {TABLE} (key, value, ids, place) VALUES (?, ?, ?, ?)"
OPEN = f"SELECT key, ids FROM {TABLE} WHERE place = ? AND ended IS NULL"
END = f"UPDATE {TABLE} SET ended = 1, value = ? WHERE key = ?"
KEEP = f"INSERT INTO {REPLIES} (key, value) VALUES (?, ?) ON CONFLICT (key) DO NOTHING"


def batch_file(home: Home) -> Path:
    """Return the file in which an installation stores its batch jobs."""
    return home.root / "batches.sqlite"


@dataclass(frozen=True)
class StoredJob:
    """A job as it is written down. `content` is the input file.

    `tried` without a `batch_id`: it may have been sent by someone who did not live to note the provider's name of it.
    """

    key: str
    content: bytes
    tried: bool
    batch_id: str | None
    ended: bool


@dataclass
class StoredLines:
    """Lines sorted by what is stored of them: replies that came, lines of open jobs by job, and fresh ones."""

    replies: dict[str, ModelReply] = field(default_factory=dict[str, ModelReply])
    jobs: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    fresh: list[str] = field(default_factory=list[str])


class BatchStore:
    """The jobs of one endpoint in the installation's database. Raises StoreError when it cannot be used."""

    def __init__(self, path: Path, *, address: str) -> None:
        self._address = address
        self._store = KeyValueStore(open_database(path), table=TABLE, columns=COLUMNS, extra_tables=[REPLIES])

    async def find_stored(self, ids: Iterable[str]) -> StoredLines:
        """Look the lines up, and return them sorted by what is stored of them."""
        return await self._store.run(partial(self._find_lines, ids=list(ids)))

    async def claim(self, lines: Mapping[str, str]) -> StoredLines:
        """Put the lines of which nothing is known into a job, written down when this returns; none is fresh any more."""
        return await self._store.run(partial(self._claim, lines=dict(lines)))

    async def job(self, key: str) -> StoredJob:
        """A job as it is now."""
        row = await self._store.run(lambda connection: connection.execute(_SELECT, (key,)).fetchone())
        content, tried, batch_id, ended = row
        return StoredJob(key, content, bool(tried), batch_id, bool(ended))

    async def try_to_send(self, key: str) -> None:
        """Note that the job is about to be sent."""
        update = f"UPDATE {TABLE} SET tried = 1 WHERE key = ?"
        await self._store.run(lambda connection: connection.execute(update, (key,)))

    async def note_sent(self, key: str, batch_id: str) -> None:
        """Note the provider's name of the job."""
        update = f"UPDATE {TABLE} SET batch_id = ? WHERE key = ?"
        await self._store.run(lambda connection: connection.execute(update, (batch_id, key)))

    async def end(self, key: str, replies: Mapping[str, ModelReply]) -> None:
        """Close the job and keep its replies, both or neither. Lines without a reply are free for another job."""
        rows = [(custom_id, REPLY.dump_json(reply)) for custom_id, reply in replies.items()]
        await self._store.run(partial(_end, key=key, rows=rows))

    def lock(self) -> AbstractAsyncContextManager[object]:
        """Only one process at a time may be inside; one that dies lets the next one in."""
        return self._store.database.lock()

    async def tidy(self, cache: KeyValueStore) -> None:
        """Forget the replies that the reply cache has."""
        ids = await self._store.run(_reply_ids)
        done = [custom_id for custom_id in ids if await cache.get(custom_id) is not None]
        await self._store.run(partial(_forget, ids=done))

    def close(self) -> None:
        self._store.close()

    def _find_lines(self, connection: Connection, *, ids: list[str]) -> StoredLines:
        known = StoredLines()
        jobs = dict[str, str]()
        for key, joined in connection.execute(OPEN, (self._address,)):
            jobs.update(dict.fromkeys(joined.split(), key))
        for custom_id in ids:
            row = connection.execute(f"SELECT value FROM {REPLIES} WHERE key = ?", (custom_id,)).fetchone()
            if row is not None:
                known.replies[custom_id] = REPLY.validate_json(row[0])
            elif custom_id in jobs:
                known.jobs.setdefault(jobs[custom_id], []).append(custom_id)
            else:
                known.fresh.append(custom_id)
        return known

    def _claim(self, connection: Connection, *, lines: dict[str, str]) -> StoredLines:
        with connection.writing():
            known = self._find_lines(connection, ids=list(lines))
            if known.fresh:
                content = "".join(f"{lines[custom_id]}\n" for custom_id in sorted(known.fresh)).encode()
                key = _key(connection, content=content)
                connection.execute(ADD, (key, content, " ".join(known.fresh), self._address))
                known.jobs[key] = known.fresh
                known.fresh = []
        return known


_SELECT = f"SELECT value, tried, batch_id, ended FROM {TABLE} WHERE key = ?"


def _key(connection: Connection, *, content: bytes) -> str:
    """The digest of the lines, and how many jobs with these lines there were: they may have to be sent again."""
    digest = hashlib.sha256(content).hexdigest()[:40]
    earlier = connection.execute(f"SELECT COUNT(*) FROM {TABLE} WHERE key LIKE ?", (f"{digest}-%",)).fetchone()
    return f"{digest}-{earlier[0]}"


def _end(connection: Connection, *, key: str, rows: list[tuple[str, bytes]]) -> None:
    with connection.writing():
        connection.executemany(KEEP, rows)
        connection.execute(END, (b"", key))


def _reply_ids(connection: Connection) -> list[str]:
    return [row[0] for row in connection.execute(f"SELECT key FROM {REPLIES}")]


def _forget(connection: Connection, *, ids: list[str]) -> None:
    with connection.writing():
        connection.executemany(f"DELETE FROM {REPLIES} WHERE key = ?", [(custom_id,) for custom_id in ids])
