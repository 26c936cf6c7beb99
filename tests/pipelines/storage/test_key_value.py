"""What is put is on the disk, whoever else writes, whoever is killed."""

import asyncio
import signal
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipelines.errors import StoreError
from pipelines.resources.storage.database import Connection
from pipelines.resources.storage.key_value import KeyValueStore
from tests.pipelines.storage.store_writer import release, told, writer
from tests.support.waiting import LONG


def keys(connection: Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT key FROM work")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folder" / "store.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[KeyValueStore]:
    store = KeyValueStore(path, table="work")
    yield store
    store.close()


def test_a_value_comes_back_in_another_store_of_the_same_file(store: KeyValueStore, path: Path) -> None:
    asyncio.run(store.put("käse", b"\x00\xff"))
    other = KeyValueStore(path, table="work")
    assert asyncio.run(other.get("käse")) == b"\x00\xff"
    assert asyncio.run(other.get("kase")) is None
    other.close()


def test_the_first_value_of_a_key_stays(store: KeyValueStore) -> None:
    async def race() -> bytes | None:
        await store.put("key", b"first")
        await asyncio.gather(store.put("key", b"second"), store.put("key", b"third"))
        return await store.get("key")

    assert asyncio.run(race()) == b"first"


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.binary(max_size=40)), max_size=12))
def test_the_store_is_a_dict_with_setdefault(store: KeyValueStore, puts: list[tuple[str, bytes]]) -> None:
    async def play() -> dict[str, bytes | None]:
        await store.run(lambda connection: connection.execute("DELETE FROM work"))
        await asyncio.gather(*(store.put(key, value) for key, value in puts))
        return {key: await store.get(key) for key, _ in puts}

    expected: dict[str, bytes] = {}
    for key, value in puts:
        expected.setdefault(key, value)
    assert asyncio.run(play()) == expected


def test_puts_that_wait_together_are_committed_together(store: KeyValueStore) -> None:
    async def many() -> list[str]:
        statements, all_wait = list[str](), threading.Event()

        def listen(connection: Connection) -> None:
            assert isinstance(connection, sqlite3.Connection)
            connection.set_trace_callback(statements.append)
            assert all_wait.wait(LONG)

        held = asyncio.create_task(store.run(listen))
        puts = [asyncio.create_task(store.put(str(number), b"x")) for number in range(200)]
        await asyncio.sleep(0)
        all_wait.set()
        await asyncio.gather(held, *puts)
        return statements

    statements = asyncio.run(many())
    assert sum(statement.startswith("INSERT") for statement in statements) == 200
    assert statements.count("COMMIT") == 1


def test_one_store_serves_one_event_loop_after_another_and_opens_again_after_close(store: KeyValueStore) -> None:
    for number in range(4):
        asyncio.run(store.put(str(number), b"x"))
        if number % 2:
            store.close()
    assert asyncio.run(store.run(keys)) == {"0", "1", "2", "3"}


def test_a_store_that_is_closed_in_its_own_thread_as_by_a_finalizer_waits_for_nothing(store: KeyValueStore) -> None:
    async def close_inside() -> bytes | None:
        await store.put("key", b"x")
        await store.run(lambda _: store.close())
        return await store.get("key")

    assert asyncio.run(close_inside()) == b"x"


def test_the_event_loop_runs_on_while_another_process_holds_the_file(store: KeyValueStore, path: Path) -> None:
    async def wait_for_the_lock() -> tuple[int, bool]:
        await store.put("before", b"")
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        put = asyncio.create_task(store.put("after", b""))
        ticks = 0
        while ticks < 20:
            await asyncio.sleep(0.005)
            ticks += 1
        waited = not put.done()
        other.execute("COMMIT")
        other.close()
        await put
        return ticks, waited

    assert asyncio.run(wait_for_the_lock()) == (20, True)


def test_a_cancelled_put_harms_no_other(store: KeyValueStore) -> None:
    async def cancel_one() -> set[str]:
        tasks = [asyncio.create_task(store.put(str(number), b"x")) for number in range(5)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.gather(*tasks[1:])
        return await store.run(keys)

    assert asyncio.run(cancel_one()) >= {"1", "2", "3", "4"}


def test_extra_columns_are_stored(path: Path) -> None:
    calls = KeyValueStore(path, table="calls", columns={"model": "TEXT", "tokens": "INTEGER"})
    asyncio.run(calls.put("first", b"x"))
    asyncio.run(calls.put("second", b"y", extra={"tokens": 3, "model": "m"}))
    rows = asyncio.run(calls.run(lambda c: c.execute("SELECT key, model, tokens FROM calls ORDER BY key").fetchall()))
    assert rows == [("first", None, None), ("second", "m", 3)]
    with pytest.raises(ValueError, match="no columns \\['price'\\]"):
        asyncio.run(calls.put("third", b"", extra={"price": 1.0}))
    calls.close()


def test_two_processes_write_to_one_store_at_once(store: KeyValueStore, path: Path) -> None:
    processes = [writer(path, name, 100) for name in ("a", "b")]
    for process in processes:
        release(process)
    assert [process.wait(timeout=5 * LONG) for process in processes] == [0, 0]
    found = asyncio.run(store.run(keys))
    assert found == {f"{name}-{number}" for name in ("a", "b", "shared") for number in range(100)}
    assert asyncio.run(store.get("shared-7")) in (b"a", b"b")


def test_what_a_killed_process_had_been_told_is_stored_is_there(store: KeyValueStore, path: Path) -> None:
    process = writer(path, "a", 100_000)
    release(process)
    acknowledged = told(process, 150)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=5 * LONG) == -signal.SIGKILL
    asyncio.run(store.put("next", b"run"))
    assert asyncio.run(store.run(keys)) >= {*acknowledged, "next"}
    assert asyncio.run(store.get(acknowledged[0])) == b"a" * 500


def test_a_damaged_database_is_named_with_what_to_do(store: KeyValueStore, path: Path) -> None:
    asyncio.run(store.put("key", b"x" * 100_000))
    store.close()
    content = bytearray(path.read_bytes())
    content[4096 : len(content)] = b"\xff" * (len(content) - 4096)
    path.write_bytes(content)
    with pytest.raises(StoreError, match=r"store\.sqlite is damaged; amemgym doctor --repair copies"):
        asyncio.run(store.put("key", b""))


def test_a_full_disk_is_told_to_everyone_who_waits_and_what_was_stored_stays(store: KeyValueStore) -> None:
    async def fill() -> list[BaseException | None]:
        await store.put("before", b"x")
        await store.run(lambda connection: connection.execute("PRAGMA max_page_count = 20"))
        return await asyncio.gather(*(store.put(str(n), b"x" * 50_000) for n in range(5)), return_exceptions=True)

    told = asyncio.run(fill())
    assert all(isinstance(error, StoreError) and "disk is full; make room" in str(error) for error in told)
    assert asyncio.run(store.run(keys)) == {"before"}


def test_a_file_made_read_only_is_named_with_what_to_do(store: KeyValueStore) -> None:
    async def write() -> None:
        await store.run(lambda connection: connection.execute("PRAGMA query_only = 1"))
        await store.put("key", b"")

    with pytest.raises(StoreError, match="cannot be written; make the file and its folder writable"):
        asyncio.run(write())


def test_a_mistake_in_a_job_is_not_blamed_on_the_file(store: KeyValueStore) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        asyncio.run(store.run(lambda connection: connection.execute("SELECT * FROM nowhere")))
