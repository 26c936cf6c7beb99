"""The ledger: one row for every call, written on its way, and the recipes that the calls were made for, in one database."""

import asyncio
import hashlib
import json
import logging
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from math import ceil
from pathlib import Path
from typing import Any, Literal, Protocol

from assets.llm.ports import BATCH_SHARE, LanguageModel, ModelReply, ModelRequest
from assets.llm.usage import request_tokens, usage_of
from assets.recipe.model_policy import Models
from assets.recipe.recipe import Budget
from assets.reporting.plurals import counted, is_or_are
from pipelines.home import Home
from pipelines.resources.cache.reply_cache import request_key
from pipelines.resources.ledger.prices import Price, Prices
from pipelines.resources.storage.database import Connection, Database
from pipelines.resources.storage.key_value import KeyValueStore
from pipelines.resources.storage.open_database import open_database
from pipelines.resources.storage.sqlite import SqliteFile

Outcome = Literal["stop", "length", "refusal", "rejected", "error", "sent", "lost"]
NO_REPLY = "('error', 'sent', 'lost')"  # the outcomes of rows that tell of no reply, as SQL has them
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
    given up or ended a run. Tokens and cost of "sent" and "lost" are an estimate: of a try under way, or that a killed run had
    under way, and of one that may have been paid for and brought no reply. `request` leaves out the place: that is `endpoint`.
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


COLUMNS = {column.name: SQL_TYPES.get(column.type, "TEXT") for column in fields(LedgerRow)}
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
    """The sums of a variant's paid calls over all its runs, without those that cost nothing. `upto`: the last row counted.

    `estimated`: the calls whose tokens are an estimate. `latest`: when the last of them was sent, in seconds since 1970.
    """

    calls: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    upto: int = 0
    estimated: int = 0
    latest: float = field(default=0.0, compare=False)

    def plus(self, more: "Spent") -> "Spent":
        """Return both together, as of this one's last row."""
        return replace(
            self,
            calls=self.calls + more.calls,
            tokens=self.tokens + more.tokens,
            cost_usd=self.cost_usd + more.cost_usd,
            estimated=self.estimated + more.estimated,
        )


class Account(Protocol):
    """A recipe, or another run that asks models: its name, under which calls are counted, and its budget."""

    @property
    def variant(self) -> str: ...
    @property
    def budget(self) -> Budget: ...
    @property
    def models(self) -> Models: ...
    @property
    def batched(self) -> bool: ...
    @property
    def item_fingerprint(self) -> str: ...
    def sha256(self) -> str: ...
    def model_dump_json(self) -> str: ...


class Ledger:
    """Rows are on the disk when `add` returns, batched with those that wait at the same time. Raises StoreError.

    `reading`: nothing will be written, so a file that cannot be written will do. `shared`: workers may share it in a database;
    else it is this file.
    """

    def __init__(self, path: Path, *, reading: bool = False, shared: bool = True) -> None:
        def database() -> Database:
            return open_database(path, reading=reading) if shared else SqliteFile(path, reading)

        self.calls = KeyValueStore(database(), table=TABLE, columns=COLUMNS, replaced_where="outcome = 'sent'")
        self.recipes = KeyValueStore(database(), table=RECIPES)
        self._noted: set[str] = set()
        self._last_checked_row = 0
        self._damaged = list[int]()

    async def add(self, row: LedgerRow, *, key: str = "") -> None:
        """Write a row; it takes the place of the one with this key that was booked when the try was sent."""
        columns = asdict(row)
        await self.calls.put(key or uuid.uuid4().hex, row_digest(columns.values()), extra=columns)

    async def add_rows_of(self, other: "Ledger") -> None:
        """Add the ended calls of another ledger that are not here yet, without the items that they were made for."""
        query = f"SELECT key, {', '.join(COLUMNS)} FROM {TABLE} WHERE outcome <> 'sent'"
        found = await other.calls.run(lambda connection: connection.execute(query).fetchall())
        rows = [(key, LedgerRow(*columns)) for key, *columns in found]
        await asyncio.gather(*(self.add(replace(row, user_id=""), key=key) for key, row in rows))

    async def note(self, key: str, account: Account) -> None:
        """Keep what calls are made for, so that later forecasts can tell which earlier runs were alike."""
        if key not in self._noted:
            await self.recipes.put(key, account.model_dump_json().encode())
            self._noted.add(key)

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


def spent_so_far(connection: Connection, variant: str, *, before: Spent, rows: str) -> Spent:
    """Return what has been paid, counted on from an earlier count; `rows`: the SQL condition of those that count."""
    # Rows get their ids while the database's write lock is held, so no smaller id can appear later.
    calls, tokens, cost, upto, lost = connection.execute(
        "SELECT COUNT(*), COALESCE(SUM(input_tokens + output_tokens), 0), COALESCE(SUM(cost_usd), 0.0), MAX(rowid), "
        "COUNT(*) FILTER (WHERE outcome = 'lost') "
        f"FROM {TABLE} WHERE rowid > ? AND variant = ? AND cache_hit = 0 AND outcome NOT IN ('error', 'sent') "
        f"AND (cost_usd IS NULL OR cost_usd > 0) AND {rows}",
        (before.upto, variant),
    ).fetchone()
    return Spent(
        calls=before.calls + calls,
        tokens=before.tokens + int(tokens),
        cost_usd=before.cost_usd + cost,
        upto=upto or before.upto,
        estimated=before.estimated + lost,
    )


def sent_now(connection: Connection, variant: str, *, key: str) -> Spent:
    """Return the estimates of the calls that have not ended, those of killed runs too, without the one of this key."""
    calls, tokens, cost, latest = connection.execute(
        "SELECT COUNT(*), COALESCE(SUM(input_tokens + output_tokens), 0), COALESCE(SUM(cost_usd), 0.0), COALESCE(MAX(at), 0.0) "
        f"FROM {TABLE} WHERE outcome = 'sent' AND variant = ? AND key <> ?",
        (variant, key),
    ).fetchone()
    return Spent(calls=calls, tokens=int(tokens), cost_usd=cost, estimated=calls, latest=latest)


def book(connection: Connection, row: LedgerRow, *, key: str) -> None:
    """Write the row of a call that is about to be sent; a killed run may have written it."""
    columns = asdict(row)
    names = ("key", "value", *columns)
    insert = f"INSERT INTO {TABLE} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))}) ON CONFLICT (key) DO NOTHING"
    connection.execute(insert, (key, row_digest(columns.values()), *columns.values()))


def ledger_file(home: Home) -> Path:
    """An installation's ledger: beside its reply cache, in a file of its own so that neither waits."""
    return home.calls.with_name("ledger.sqlite")


FREE = Price(0.0, "provider")


@dataclass(frozen=True)
class Most:
    """The most that a call of one prompt took so far: tokens read for one of our estimate, and tokens written."""

    read: float
    written: int


@dataclass(frozen=True)
class UnitLedger:
    """The ledger, opened for one work unit of a recipe at one endpoint. `endpoint` is its address without secrets.

    `most`: by model and prompt.
    """

    ledger: Ledger
    prices: Prices
    account: Account
    unit: str
    endpoint: str
    most: dict[tuple[str, str], Most] = field(default_factory=dict[tuple[str, str], Most], compare=False)

    @cached_property
    def recipe_key(self) -> str:
        """The key of the recipe in the ledger."""
        return self.account.item_fingerprint

    async def begin(self) -> None:
        """Note the recipe. A ledger that cannot be written shows here, before anything is paid for. Raises StoreError."""
        await self.ledger.note(self.recipe_key, self.account)

    def estimate(self, request: ModelRequest) -> ModelReply:
        """Return what a call may take: its prompt's tokens, and those of its longest reply so far, else all its room."""
        most = self.most.get((request.model, request.labels.prompt), Most(1.0, request.max_output_tokens))
        share = BATCH_SHARE if request.labels.transport == "batch" else 1.0
        return ModelReply("", "stop", ceil(most.read * request_tokens(request)), most.written, price_share=share)

    def note_usage(self, request: ModelRequest, reply: ModelReply) -> None:
        """Let later estimates know what a call took."""
        name = (request.model, request.labels.prompt)
        known = self.most.get(name, Most(1.0, 0))
        read = reply.input_tokens / request_tokens(request)
        self.most[name] = Most(max(known.read, read), max(known.written, reply.output_tokens))

    def price(self, request: ModelRequest, reply: ModelReply) -> Price:
        """Return the price of a reply that comes from the endpoint."""
        listed = self.prices.of(request.model, usage_of(reply))
        return listed if listed.usd is None else replace(listed, usd=listed.usd * reply.price_share)

    def row(self, request: ModelRequest, reply: ModelReply, *, price: Price, outcome: Outcome) -> LedgerRow:
        """Return the row of a call, or of one try of it."""
        labels = request.labels
        return LedgerRow(
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
            await self.ledger.ledger.add(self.ledger.row(request, reply, price=FREE, outcome=reply.finish))
        return reply
