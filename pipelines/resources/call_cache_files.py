"""Looking after the call cache: what is in it, copies of it, and taking things out."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from pipelines.resources.call_cache import COLUMNS, TABLE
from pipelines.resources.databases import Connection, Table
from pipelines.resources.keyed_store import KeyedStore
from pipelines.resources.sqlite_file import SqliteFile

SECONDS_PER_DAY = 86_400
UNKNOWN = "(not noted)"
COPY = f"INSERT INTO {TABLE} (key, value, model, at) VALUES (?, ?, ?, ?)"


@dataclass(frozen=True)
class ModelShare:
    """What the cache holds of one model. `oldest` and `newest` are seconds since 1970, None where nobody noted them."""

    model: str
    replies: int
    size: int
    oldest: float | None
    newest: float | None


async def shares(replies: KeyedStore) -> list[ModelShare]:
    """The cache by model, the largest first; replies from before models were noted stand under one name."""

    def read(connection: Connection) -> list[ModelShare]:
        query = (
            f"SELECT COALESCE(model, ?), COUNT(*), SUM(LENGTH(value)), MIN(at), MAX(at) FROM {TABLE} "
            "GROUP BY 1 ORDER BY 3 DESC, 1"
        )
        return [ModelShare(*row) for row in connection.execute(query, (UNKNOWN,))]

    return await replies.run(read)


async def export(replies: KeyedStore, path: Path) -> int:
    """Copy the cache to a file that appears only when it is whole; the number of replies. Raises OSError.

    `.jsonl`: one object per reply with key, model, time and reply. Anything else: a SQLite file that can take the
    cache's place.
    """

    def write(connection: Connection) -> int:
        draft = path.with_name(f".{path.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        if path.suffix == ".jsonl":
            with draft.open("w", encoding="utf-8") as file:
                file.writelines(_lines(connection))
        else:
            with closing(SqliteFile(draft).connect([Table(TABLE, COLUMNS)])) as copy, copy.writing():
                copy.executemany(COPY, connection.execute(f"SELECT key, value, model, at FROM {TABLE} ORDER BY rowid"))
        draft.replace(path)
        return connection.execute(f"SELECT COUNT(*) FROM {TABLE}").fetchone()[0]

    return await replies.run(write)


def _lines(connection: Connection) -> Iterator[str]:
    for key, model, at, value in connection.execute(f"SELECT key, model, at, value FROM {TABLE} ORDER BY key"):
        yield json.dumps({"key": key, "model": model, "at": at, "reply": json.loads(value)}, ensure_ascii=False) + "\n"


async def prune(replies: KeyedStore, *, model: str | None, older_than_days: float | None) -> int:
    """Take out the replies of a model, those older than so many days, or those that are both; their number.

    A reply whose time nobody noted counts as old. Raises StoreError when another process keeps the file busy.
    """
    limit = None if older_than_days is None else time.time() - older_than_days * SECONDS_PER_DAY

    def delete(connection: Connection) -> int:
        query = f"DELETE FROM {TABLE} WHERE (? IS NULL OR COALESCE(model, ?) = ?) AND (? IS NULL OR at IS NULL OR at < ?)"
        count = connection.execute(query, (model, UNKNOWN, model, limit, limit)).rowcount
        if count:
            connection.execute("VACUUM")
        return count

    return await replies.run(delete)
