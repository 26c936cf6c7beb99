"""Calls under way at all workers are counted once each, whatever becomes of a connection."""

import asyncio
from contextlib import closing
from pathlib import Path

import psycopg2

from assets.recipe.recipe import Budget
from pipelines.resources.ledger.budget import BudgetGate, VariantBudget
from pipelines.resources.ledger.ledger import FREE, Ledger, UnitLedger, sent_now
from pipelines.resources.ledger.prices import Prices
from tests.pipelines.ledger.ledger_stores import ADDRESS, call
from tests.support.small import small_recipe

# The first transaction from now on loses its connection while it is committed.
LOSE_ONE_COMMIT = """
SET search_path = amemgym_ledger;
CREATE SEQUENCE commits;
CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF nextval('amemgym_ledger.commits') = 1 THEN PERFORM pg_terminate_backend(pg_backend_pid()), pg_sleep(1); END IF;
    RETURN NULL;
END $$;
CREATE CONSTRAINT TRIGGER lose AFTER INSERT OR UPDATE ON calls DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION lose();
"""


def asked(database: str, sql: str) -> None:
    with closing(psycopg2.connect(database.replace("+psycopg2", ""))) as connection, connection, connection.cursor() as cursor:
        cursor.execute(sql)


def test_a_call_is_booked_once_though_its_commit_was_lost(database: str, tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    unit = UnitLedger(ledger, Prices({}), small_recipe(), "small", ADDRESS)
    budget = VariantBudget("small", Budget(max_tokens=10_000), Prices({}))
    row = unit.row(call(1), unit.estimate(call(1)), price=FREE, outcome="sent")

    async def use() -> list[int]:
        counts: list[int] = []
        for worker in range(2):
            gate = BudgetGate(ledger, budget=budget, longest_try=1.0)
            await gate.book(row, key=f"worker {worker}")
            sent = await ledger.calls.run(lambda connection: sent_now(connection, "small", key=""))
            counts.append(sent.calls)
            if worker == 0:
                asked(database, LOSE_ONE_COMMIT)
        return counts

    assert asyncio.run(use()) == [1, 2]
    ledger.close()
