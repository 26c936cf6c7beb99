"""The ledger: one row for every call, and the recipes that the calls were made for, in one database."""

import uuid
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Literal

from assets.recipe.recipe import Recipe
from pipelines.home import Home
from pipelines.resources.storage.database import Connection, database_of
from pipelines.resources.storage.key_value import KeyedStore

Outcome = Literal["stop", "length", "refusal", "error"]
TABLE, RECIPES = "calls", "recipes"
SQL_TYPES: dict[object, str] = {str: "TEXT", int: "INTEGER", bool: "INTEGER", float: "REAL", float | None: "REAL"}


@dataclass(frozen=True)
class LedgerRow:
    """One call.

    `at` is seconds since 1970, `recipe` the recipe's `user_fingerprint`, `request` the call cache's key, `seconds` the
    time of the answered try. `cost_usd` is what was paid: 0 for a cache hit, None where nobody knows the price;
    `price` says who named it. An outcome of "error" is a call that ended a run.
    """

    at: float
    variant: str
    unit: str
    recipe: str
    stage: str
    user_id: str
    prompt: str
    fingerprint: str
    attempt: int
    sample: int
    request: str
    model: str
    endpoint: str
    input_tokens: int
    cached_input_tokens: int
    output_tokens: int
    seconds: float
    cost_usd: float | None
    price: str
    outcome: Outcome
    cache_hit: bool


COLUMNS = {field.name: SQL_TYPES.get(field.type, "TEXT") for field in fields(LedgerRow)}


@dataclass(frozen=True)
class Spent:
    """What a variant has paid for over all its runs. `upto` is the last row that was counted."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    upto: int = 0

    def expected(self, more: int) -> "Spent":
        """What it will be after so many more calls, if they are like those before."""
        growth = 1 + more / max(self.calls, 1)
        return replace(self, tokens=int(self.tokens * growth), cost_usd=self.cost_usd * growth)


class Ledger:
    """Rows are on the disk when `add` returns, batched with those that wait at the same time. Raises StoreError."""

    def __init__(self, path: Path) -> None:
        self.calls = KeyedStore(database_of(path), table=TABLE, columns=COLUMNS)
        self.recipes = KeyedStore(database_of(path), table=RECIPES)
        self._noted: set[str] = set()

    async def add(self, row: LedgerRow) -> None:
        """Write a row."""
        await self.calls.put(uuid.uuid4().hex, b"", extra=asdict(row))

    async def note(self, key: str, recipe: Recipe) -> None:
        """Keep what calls are made for, so that later forecasts can tell which earlier runs were alike."""
        if key not in self._noted:
            await self.recipes.put(key, recipe.model_dump_json().encode())
            self._noted.add(key)

    async def spent(self, variant: str, *, before: Spent) -> Spent:
        """What has been paid, counted on from an earlier count; rows of other processes count too.

        Calls whose price nobody knows count with their tokens alone.
        """

        return await self.calls.run(lambda connection: spent_so_far(connection, variant, before=before))

    def close(self) -> None:
        """Let go of the database; it opens again when next used."""
        self.calls.close()
        self.recipes.close()


def spent_so_far(connection: Connection, variant: str, *, before: Spent) -> Spent:
    """What has been paid, counted on from an earlier count."""
    # Rows get their ids while the database's write lock is held, so no smaller id can appear later.
    calls, tokens, cost, upto = connection.execute(
        "SELECT COUNT(*), COALESCE(SUM(input_tokens + output_tokens), 0), COALESCE(SUM(cost_usd), 0.0), MAX(rowid) "
        f"FROM {TABLE} WHERE rowid > ? AND variant = ? AND cache_hit = 0 AND outcome <> 'error'",
        (before.upto, variant),
    ).fetchone()
    counted = (before.calls + calls, before.tokens + int(tokens), before.cost_usd + cost)
    return Spent(*counted, upto=upto or before.upto)


def ledger_file(place: Home) -> Path:
    """Where an installation's ledger lies: beside its call cache, in a file of its own so that neither waits."""
    return place.calls.with_name("ledger.sqlite")
