"""The ledger: one row for every call, written on its way, and the recipes that the calls were made for, in one database."""

import hashlib
import json
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol

from assets.llm.async_calls import gather_all
from assets.llm.ports import EndpointError, LanguageModel, ModelReply, ModelRequest, Then
from assets.llm.structured_output import is_rubbish
from assets.llm.usage import usage_of
from assets.recipe.model_policy import Models
from assets.recipe.recipe import Budget
from assets.reporting.plurals import counted, is_or_are
from pipelines.home import Home
from pipelines.resources.cache.reply_cache import ReplyCache, request_key
from pipelines.resources.ledger.prices import Price, Prices
from pipelines.resources.storage.database import Connection
from pipelines.resources.storage.key_value import KeyValueStore
from pipelines.resources.storage.open_database import open_database

Outcome = Literal["stop", "length", "refusal", "rejected", "error"]
TABLE = "calls"
RECIPES = "recipes"
ROWS_AT_ONCE = 50_000
LOG = logging.getLogger(__name__)
SQL_TYPES: dict[object, str] = {str: "TEXT", int: "INTEGER", bool: "INTEGER", float: "REAL", float | None: "REAL"}


@dataclass(frozen=True)
class LedgerRow:
    """One call.

    `at` is seconds since 1970, `recipe` the recipe's `item_fingerprint`, `request` the request's key, `seconds` the
    time of the answered try. `cost_usd` is what was paid: 0 for a cache hit, None where nobody knows the price;
    `price` says who named it. An outcome of "rejected" is a paid reply that no reader accepts, one of "error" a call that was
    given up or ended a run. `request` leaves out the place: that is `endpoint`.
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
PYTHON_TYPES: dict[str, Callable[[Any], object]] = {"TEXT": str, "INTEGER": int, "REAL": float}


def row_digest(row: Iterable[object]) -> bytes:
    """Return what a row's `value` holds: a digest of its columns as the database gives them back.

    Raises ValueError where a column holds what none of its kind can be.
    """
    values: list[object] = []
    for kind, value in zip(COLUMNS.values(), row, strict=True):
        values.append(None if value is None else PYTHON_TYPES[kind](value))
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:32].encode()


def is_as_written(digest: bytes, row: Sequence[object]) -> bool:
    """Return True when a row's columns are what was written."""
    try:
        return digest == row_digest(row)
    except (ValueError, TypeError, OverflowError):
        return False


@dataclass(frozen=True)
class Spent:
    """The sums of a variant's paid calls over all its runs, without those that cost nothing. `upto`: the last row counted."""

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    upto: int = 0

    def expected(self, more: int) -> "Spent":
        """Return the sums after so many more calls, if they are like those before."""
        growth = 1 + more / max(self.calls, 1)
        return replace(self, tokens=int(self.tokens * growth), cost_usd=self.cost_usd * growth)


class Account(Protocol):
    """A recipe, or another run that asks models: its name, under which calls are counted, and its budget."""

    @property
    def variant(self) -> str: ...
    @property
    def budget(self) -> Budget: ...
    @property
    def models(self) -> Models: ...
    @property
    def item_fingerprint(self) -> str: ...
    def sha256(self) -> str: ...
    def model_dump_json(self) -> str: ...


class Ledger:
    """Rows are on the disk when `add` returns, batched with those that wait at the same time. Raises StoreError.

    `reading`: nothing will be written, so a file that cannot be written will do.
    """

    def __init__(self, path: Path, *, reading: bool = False) -> None:
        self.calls = KeyValueStore(open_database(path, reading=reading), table=TABLE, columns=COLUMNS)
        self.recipes = KeyValueStore(open_database(path, reading=reading), table=RECIPES)
        self._noted: set[str] = set()
        self._last_checked_row = 0
        self._damaged = list[int]()

    async def add(self, row: LedgerRow) -> None:
        columns = asdict(row)
        await self.calls.put(uuid.uuid4().hex, row_digest(columns.values()), extra=columns)

    async def note(self, key: str, account: Account) -> None:
        """Keep what calls are made for, so that later forecasts can tell which earlier runs were alike."""
        if key not in self._noted:
            await self.recipes.put(key, account.model_dump_json().encode())
            self._noted.add(key)

    async def spent(self, variant: str, *, before: Spent) -> Spent:
        """Return what has been paid, counted on from an earlier count; rows of other processes count too.

        Calls whose price nobody knows count with their tokens alone.
        """

        def read(connection: Connection) -> Spent:
            return spent_so_far(connection, variant, before=before, rows=self.sound_rows(connection))

        return await self.calls.run(read)

    def sound_rows(self, connection: Connection) -> str:
        """Return the SQL condition of the rows that hold what was written. A warning counts the others, which are in no sum."""
        query = f"SELECT rowid, value, {', '.join(COLUMNS)} FROM {TABLE} WHERE rowid > ? ORDER BY rowid LIMIT {ROWS_AT_ONCE}"
        found = list[int]()
        rows = connection.execute(query, (self._last_checked_row,)).fetchall()
        while rows:
            found += [number for number, digest, *columns in rows if not is_as_written(digest, columns)]
            self._last_checked_row = rows[-1][0]
            rows = connection.execute(query, (self._last_checked_row,)).fetchall()
        if found:
            LOG.warning(
                "%s in %s %s damaged and left out here, as what they cost is lost; "
                "amemgym doctor --repair removes what is damaged.",
                counted(len(found), "call"),
                self.calls.database,
                is_or_are(len(found)),
            )
            self._damaged += found
        return f"rowid NOT IN ({', '.join(map(str, (0, *self._damaged)))})"

    def close(self) -> None:
        """Let go of the database; it opens again when next used."""
        self.calls.close()
        self.recipes.close()


def spent_so_far(connection: Connection, variant: str, *, before: Spent, rows: str = "1 = 1") -> Spent:
    """Return what has been paid, counted on from an earlier count; `rows`: the SQL condition of those that count."""
    # Rows get their ids while the database's write lock is held, so no smaller id can appear later.
    calls, tokens, cost, upto = connection.execute(
        "SELECT COUNT(*), COALESCE(SUM(input_tokens + output_tokens), 0), COALESCE(SUM(cost_usd), 0.0), MAX(rowid) "
        f"FROM {TABLE} WHERE rowid > ? AND variant = ? AND cache_hit = 0 AND outcome <> 'error' "
        f"AND (cost_usd IS NULL OR cost_usd > 0) AND {rows}",
        (before.upto, variant),
    ).fetchone()
    return Spent(
        calls=before.calls + calls,
        tokens=before.tokens + int(tokens),
        cost_usd=before.cost_usd + cost,
        upto=upto or before.upto,
    )


def ledger_file(home: Home) -> Path:
    """An installation's ledger: beside its reply cache, in a file of its own so that neither waits."""
    return home.calls.with_name("ledger.sqlite")


FREE = Price(0.0, "provider")


@dataclass(frozen=True)
class UnitLedger:
    """The ledger, opened for one work unit of a recipe at one endpoint. `endpoint` is its address without secrets."""

    ledger: Ledger
    prices: Prices
    account: Account
    unit: str
    endpoint: str

    @cached_property
    def recipe_key(self) -> str:
        """The key of the recipe in the ledger."""
        return self.account.item_fingerprint

    async def begin(self) -> None:
        """Note the recipe. A ledger that cannot be written shows here, before anything is paid for. Raises StoreError."""
        await self.ledger.note(self.recipe_key, self.account)

    def price(self, request: ModelRequest, reply: ModelReply) -> Price:
        """Return the price of a reply that comes from the endpoint."""
        listed = self.prices.of(request.model, usage_of(reply))
        return listed if listed.usd is None else replace(listed, usd=listed.usd * reply.price_share)

    async def record(self, request: ModelRequest, reply: ModelReply, *, price: Price, outcome: Outcome) -> None:
        """Return when the row is on the disk."""
        labels = request.labels
        row = LedgerRow(
            at=time.time(),
            variant=self.account.variant,
            unit=self.unit,
            recipe=self.recipe_key,
            stage=labels.stage,
            user_id=labels.item_id,
            prompt=labels.prompt,
            fingerprint=labels.fingerprint,
            attempt=labels.attempt,
            sample=request.sample,
            request=request_key(request),
            model=request.model,
            endpoint=self.endpoint,
            input_tokens=reply.input_tokens,
            cached_input_tokens=reply.cached_input_tokens,
            output_tokens=reply.output_tokens,
            seconds=reply.seconds,
            cost_usd=price.usd,
            price=price.source,
            outcome=outcome,
            cache_hit=reply.repeated,
        )
        await self.ledger.add(row)


@dataclass(frozen=True)
class CacheHitRecorder:
    """A model behind a reply cache; the replies that the cache gave are recorded as hits."""

    model: LanguageModel
    ledger: UnitLedger

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on, and record it if it cost nothing."""
        await self.ledger.begin()
        reply = await self.model.complete(request)
        if reply.repeated:
            await self.ledger.record(request, reply, price=FREE, outcome=reply.finish)
        return reply


class PaidModel(Protocol):
    """A client, which lets a reply be stored while its call still holds its slot."""

    async def complete(self, request: ModelRequest, *, then: Then = ...) -> ModelReply: ...


@dataclass(frozen=True)
class PaidCallRecorder:
    """A client whose replies are recorded, and stored, before anyone uses them and before another call takes their slot.

    A run killed at any moment has counted what it paid.
    """

    model: PaidModel
    ledger: UnitLedger
    replies: ReplyCache | None = None

    async def complete(self, request: ModelRequest) -> ModelReply:
        """Pass the call on and put its price on the reply."""

        async def store(reply: ModelReply) -> ModelReply:
            price = self.ledger.price(request, reply)
            outcome: Outcome = "rejected" if is_rubbish(request, reply) else reply.finish
            recording = self.ledger.record(request, reply, price=price, outcome=outcome)
            if self.replies is None:
                await recording
            else:
                await gather_all(recording, self.replies.put(request, reply))
            return replace(reply, cost_usd=price.usd)

        try:
            return await self.model.complete(request, then=store)
        except EndpointError:
            nothing = ModelReply(text="", finish="stop", input_tokens=0, output_tokens=0)
            await self.ledger.record(request, nothing, price=FREE, outcome="error")
            raise
