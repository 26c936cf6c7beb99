"""Calls under way are counted once each, whatever becomes of a connection or a worker."""

import asyncio
from contextlib import closing
from pathlib import Path

import psycopg2

from pipelines.resources.ledger.ledger import Ledger, Spent
from pipelines.resources.ledger.shared_budget import SharedBudgetCounter

# The first transaction from now on loses its connection while it is committed.
LOSE_ONE_COMMIT = """
SET search_path = amemgym_ledger;
CREATE SEQUENCE commits;
CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('amemgym_ledger.commits') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(1); END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER lose AFTER INSERT OR UPDATE ON under_way DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION lose();
"""
LEAVE_BEHIND = """
INSERT INTO amemgym_ledger.under_way (key, value, variant, holder, calls)
    SELECT 'of a dead worker', '', variant, holder, 5 FROM amemgym_ledger.under_way
"""


def asked(database: str, sql: str) -> None:
    with closing(psycopg2.connect(database.replace("+psycopg2", ""))) as connection, connection, connection.cursor() as cursor:
        cursor.execute(sql)


def test_a_call_is_counted_once_though_its_commit_was_lost(database: str, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    counter = SharedBudgetCounter(ledger, variant="small")

    async def use() -> list[int]:
        counts: list[int] = []
        for step in (counter.begin_call(_always), counter.begin_call(_always), counter.end_call(), counter.end_call()):
            await step
            counts.append(counter.under_way)
            if len(counts) == 1:
                asked(database, LOSE_ONE_COMMIT)
        return counts

    assert asyncio.run(use()) == [1, 2, 1, 0]
    ledger.close()


def test_what_a_dead_worker_had_under_way_does_not_count_under_a_session_number_given_again(
    database: str, tmp_path: Path
) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    counter = SharedBudgetCounter(ledger, variant="small")
    seen: list[int] = []

    def look(spent: Spent, under_way: int) -> bool:
        seen.append(under_way)
        return True

    async def use() -> None:
        await counter.begin_call(look)
        asked(database, LEAVE_BEHIND)
        await counter.begin_call(look)

    asyncio.run(use())
    assert seen == [0, 1]
    ledger.close()


def _always(spent: Spent, under_way: int) -> bool:
    return True
