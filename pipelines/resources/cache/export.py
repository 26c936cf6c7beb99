"""Looking after the reply cache: what is in it, copies of it, and taking things out."""

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NotRequired

from pydantic import Field, TypeAdapter, ValidationError
from typing_extensions import TypedDict

from assets.llm.ports import ModelReply
from assets.records.problems import first_problem
from assets.whole_files import whole_file
from pipelines.resources.cache.reply_cache import COLUMNS, NOT_STORED, REPLY, TABLE
from pipelines.resources.storage.database import Connection
from pipelines.resources.storage.key_value import KeyValueStore, SqlValue

SECONDS_PER_DAY = 86_400
UNKNOWN = "(not noted)"
AT_ONCE = 1_000


class _Exported(TypedDict):
    key: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]
    model: str | None
    at: float | None
    reply: ModelReply
    place: NotRequired[str | None]
    rejected: NotRequired[int | None]


EXPORTED = TypeAdapter(_Exported)


@dataclass(frozen=True)
class ModelShare:
    """The cache's share of one model. `oldest` and `newest` are seconds since 1970, None where nobody noted them.

    `rejected`: those of the replies that no reader accepts, so that the next run asks again.
    """

    model: str
    replies: int
    rejected: int
    size: int
    oldest: float | None
    newest: float | None


async def shares(replies: KeyValueStore) -> list[ModelShare]:
    """Return the cache's shares by model, the largest first; imported replies without a model stand under one name."""

    def read(connection: Connection) -> list[ModelShare]:
        query = (
            "SELECT COALESCE(model, ?), COUNT(*), COUNT(CASE WHEN rejected = 1 THEN 1 END), SUM(LENGTH(value)), "
            f"MIN(at), MAX(at) FROM {TABLE} GROUP BY 1 ORDER BY 4 DESC, 1"
        )
        return [ModelShare(*row) for row in connection.execute(query, (UNKNOWN,))]

    return await replies.run(read)


async def write_copy(replies: KeyValueStore, path: Path) -> int:
    """Copy the cache to a file that appears only when it is whole; return the number of replies. Raises OSError.

    One JSON object a line and reply, with key, model, time and reply.
    """

    def write(connection: Connection) -> int:
        with whole_file(path) as draft, draft.open("w", encoding="utf-8") as file:
            file.writelines(_lines(connection))
        return connection.execute(f"SELECT COUNT(*) FROM {TABLE}").fetchone()[0]

    return await replies.run(write)


def _lines(connection: Connection) -> Iterator[str]:
    query = f"SELECT key, model, at, value, place, rejected FROM {TABLE} ORDER BY key"
    for key, model, at, value, place, rejected in connection.execute(query):
        row: dict[str, object] = {"key": key, "model": model, "at": at}
        if place:
            row["place"] = place
        if rejected:
            row["rejected"] = 1
        row["reply"] = json.loads(value)
        yield json.dumps(row, ensure_ascii=False) + "\n"


class NotReplies(ValueError):
    """A file that is no export of a reply cache; the message says where."""


async def read_replies(replies: KeyValueStore, path: Path) -> int:
    """Keep the replies of an exported `.jsonl`; return how many it holds. A reply that is there already stays as it is.

    Raises NotReplies, before anything is kept, or OSError.
    """
    with path.open(encoding="utf-8", errors="replace") as file:
        rows = [_row(line, place=f"{path}, line {number}") for number, line in enumerate(file, start=1)]
    for start in range(0, len(rows), AT_ONCE):
        await asyncio.gather(*(replies.put(key, value, extra=about) for key, value, about in rows[start : start + AT_ONCE]))
    return len(rows)


def _row(line: str, *, place: str) -> tuple[str, bytes, dict[str, SqlValue]]:
    try:
        found = EXPORTED.validate_json(line)
        about: dict[str, SqlValue] = {name: found.get(name) for name in COLUMNS}
        return found["key"], REPLY.dump_json(found["reply"], exclude=NOT_STORED), about
    except ValidationError as error:
        reason = " ".join(first_problem(error, whole="the line"))
        raise NotReplies(
            f"{place} is no exported reply ({reason}); give a .jsonl file that amemgym cache export wrote."
        ) from error


async def delete_replies(replies: KeyValueStore, *, model: str | None, older_than_days: float | None) -> int:
    """Delete the replies of a model, those older than so many days, or those that are both; return their number.

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
