"""The stores behave in the workers' Postgres as they do in SQLite files."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from assets.amemgym.pipeline import AMEMGYM
from assets.llm.ports import ModelReply
from pipelines.errors import StoreError
from pipelines.planning.earlier_runs import earlier_runs
from pipelines.resources.cache.export import delete_replies, shares, write_copy
from pipelines.resources.cache.reply_cache import SqlRecordCache, open_replies
from pipelines.resources.ledger.queries import Grouping, sum_calls
from pipelines.resources.llm.batch.store import BatchStore
from pipelines.resources.storage.database import VARIABLE
from pipelines.resources.storage.postgres import open_postgres
from tests.cluster.servers import Cluster
from tests.cluster.sessions import end_sessions
from tests.pipelines.cache import test_places
from tests.pipelines.ledger.ledger_stores import LedgerStores, UsingModel, call, open_stores, spent_in
from tests.support.small import small_recipe


def told(stores: LedgerStores, folder: Path) -> list[Any]:
    """Everything that is read from ledger and reply cache, after hits, misses and an error."""
    stores.ask(UsingModel(), [call(number) for number in range(5)])
    stores.ask(UsingModel(), [call(number) for number in range(3)])
    stores.ask(UsingModel(fails=True), [call(9, model="made-up")])

    async def read() -> list[Any]:
        groupings: tuple[Grouping, ...] = ("stage", "model", "prompt", "variant")
        sums = [sorted(map(str, await sum_calls(stores.ledger, by=by))) for by in groupings]
        seen = await earlier_runs(stores.ledger, AMEMGYM, like=small_recipe())
        kept = [(share.model, share.replies, share.size) for share in await shares(stores.replies)]
        copied = await write_copy(stores.replies, folder / "copy.jsonl")
        taken = await delete_replies(stores.replies, model="gpt-4.1", older_than_days=None)
        left = await shares(stores.replies)
        # The numbers of rows are the database's own.
        spent = replace(await spent_in(stores.ledger), upto=0)
        return [sums, spent, seen, kept, copied, taken, left]

    return asyncio.run(read())


def test_ledger_and_call_cache_tell_the_same_from_either_database(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open_stores(tmp_path) as stores:
        shared = told(stores, tmp_path)
    monkeypatch.delenv(VARIABLE)
    with open_stores(tmp_path) as stores:
        own = told(stores, tmp_path)
    # Times differ, and nothing else may.
    plain: Callable[[list[Any]], str] = lambda found: str([found[0][1][0].split("seconds")[0], *found[1:]])  # noqa: E731
    assert plain(shared) == plain(own)
    assert len((tmp_path / "copy.jsonl").read_text().splitlines()) == 5


def test_a_value_of_one_worker_is_the_others_too_and_the_first_stays(database: str, tmp_path: Path) -> None:
    one, other = SqlRecordCache(tmp_path / "work.sqlite"), SqlRecordCache(tmp_path / "work.sqlite")

    async def use() -> list[bytes | None]:
        await asyncio.gather(*(store.put(f"{n}", b"%s?\x00\xff" * n) for n in range(50) for store in (one, other)))
        await asyncio.gather(one.put("key", b"first"), one.put("odd", b"\x00"))
        await other.put("key", b"second")
        return [await other.get("key"), await other.get("odd"), await other.get("none"), await one.get("49")]

    assert asyncio.run(use()) == [b"first", b"\x00", None, b"%s?\x00\xff" * 49]
    one.close()
    other.close()


def test_two_workers_pay_once_for_the_same_requests(database: str, tmp_path: Path) -> None:
    test_places.test_two_processes_pay_once(tmp_path)


def test_the_claim_of_a_killed_worker_is_free(database: str, tmp_path: Path) -> None:
    test_places.test_the_claim_of_a_killed_process_is_free(tmp_path)


def test_a_claim_that_was_cancelled_while_it_was_taken_is_free(database: str, tmp_path: Path) -> None:
    one, other = (open_replies(tmp_path / "calls.sqlite") for _ in range(2))

    async def use() -> list[bool]:
        for _ in range(20):
            taking = asyncio.create_task(one.claims.take("ab" * 32))
            await asyncio.sleep(0)
            taking.cancel()
            await asyncio.gather(taking, return_exceptions=True)
        return [await other.claims.take("ab" * 32), await one.claims.take("ab" * 32)]

    assert asyncio.run(use()) == [True, False]
    one.close()
    other.close()


def test_a_reply_waits_for_a_server_that_restarts(database: str, servers: Cluster, tmp_path: Path) -> None:
    socket = servers.folder / ".s.PGSQL.5432"
    with open_stores(tmp_path) as stores:

        async def use() -> list[bytes | None]:
            await stores.replies.put("before", b"value")
            end_sessions(database)
            away = socket.rename(socket.with_name("away"))
            put = asyncio.create_task(stores.replies.put("paid", b"reply"))
            await asyncio.sleep(0.8)
            waiting = not put.done()
            away.rename(socket)
            await put
            assert waiting
            return [await stores.replies.get(key) for key in ("before", "paid")]

        assert asyncio.run(use()) == [b"value", b"reply"]


def test_a_lost_connection_beside_the_stores_is_one_sentence(database: str, tmp_path: Path) -> None:
    store = BatchStore(tmp_path / "batches.sqlite", address="http://model/v1")

    async def use() -> None:
        async with store.lock():
            waiting = asyncio.create_task(_inside(store))
            await asyncio.sleep(0.1)
            end_sessions(database)
            with pytest.raises(StoreError, match=r"cannot be used .*; repair it or correct AMEMGYM_DATABASE"):
                await waiting

    asyncio.run(use())


def test_a_line_is_in_one_batch_job_whichever_worker_asks(database: str, tmp_path: Path) -> None:
    stores = [BatchStore(tmp_path / "batches.sqlite", address="http://model/v1") for _ in range(2)]
    reply = ModelReply("words", "stop", 1, 1)

    async def use() -> None:
        claims = await asyncio.gather(*(store.claim({"a": "line a", "b": "line b"}) for store in stores))
        assert claims[0].jobs == claims[1].jobs
        [key] = claims[0].jobs
        async with stores[0].lock():
            waiting = asyncio.create_task(_inside(stores[1]))
            await asyncio.sleep(0.5)
            assert not waiting.done()
        await waiting
        await stores[0].end(key, {"a": reply})
        known = await stores[1].find_stored(["a", "b"])
        assert (known.replies, known.fresh) == ({"a": reply}, ["b"])

    asyncio.run(use())
    for store in stores:
        store.close()


async def _inside(store: BatchStore) -> None:
    async with store.lock():
        pass


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("mysql://me:hush@host/x", "must be an address such as postgresql"),
        ("postgresql://me:hush", "must be an address such as postgresql"),
        ("postgresql://me:hush@host:5432/x?nosuch=1", "must be an address such as postgresql"),
        ("postgresql+psycopg2://me:hush/hush@host:5432/x", "in a password write %40 for @ and %2F for /"),
        ("postgresql+psycopg2://me:hush@hush@host:5432/x", "in a password write %40 for @ and %2F for /"),
        ("postgresql+psycopg2://me:5/hush@host:5432/x", "in a password write %40 for @ and %2F for /"),
        ("postgresql+psycopg2://me:hush%40%2F@127.0.0.1:1/x", "127.0.0.1:1/x cannot be used"),
    ],
)
def test_a_database_that_cannot_be_used_is_named_without_its_password(
    url: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, url)
    with pytest.raises(StoreError) as error:
        asyncio.run(SqlRecordCache(tmp_path / "work.sqlite").get("key"))
    assert words in str(error.value)
    assert "hush" not in f"{error.value} {error.value.__cause__!r} {error.value.__context__!r}"


def test_a_database_is_shown_without_its_password() -> None:
    database = open_postgres("postgresql://me:hush@host/x", schema="calls")
    assert "hush" not in f"{database!r} {database}"
