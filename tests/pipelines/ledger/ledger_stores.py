"""What the tests of ledger, budget and forecast share: a model of known usage behind the real wrappers."""

import asyncio
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from assets.llm.ports import UNBOOKED, CallBooking, CallLabels, EndpointError, LanguageModel, ModelReply, ModelRequest
from assets.recipe.amemgym import AMemGymRecipe
from assets.recipe.recipe import Budget
from pipelines.resources.cache.reply_cache import NOWHERE, CachedModel, ReplyCache, open_replies
from pipelines.resources.ledger.budget import BudgetGate, VariantBudget
from pipelines.resources.ledger.ledger import CacheHitRecorder, Ledger, Spent, UnitLedger, spent_so_far
from pipelines.resources.ledger.paid_calls import PaidCallRecorder, PaidModel
from pipelines.resources.ledger.prices import Prices
from pipelines.resources.storage.database import Connection
from tests.pipelines.llm.scripted_server import a_request
from tests.support.small import small_recipe

ADDRESS = "http://model/v1"
PRICED = "gpt-4.1"  # 2 dollars per million tokens in, 8 out: a call of the model below costs 0.0028


@dataclass
class UsingModel:
    """A model whose every call uses 1000 tokens in and 100 out."""

    fails: bool = False
    asked: list[ModelRequest] = field(default_factory=list[ModelRequest])

    async def complete(self, request: ModelRequest, *, booking: CallBooking = UNBOOKED) -> ModelReply:
        await booking.send()
        self.asked.append(request)
        await asyncio.sleep(0.005)
        if self.fails:
            raise EndpointError("The endpoint is gone.")
        return await booking.keep(ModelReply(f"reply {len(self.asked)}", "stop", 1000, 100, seconds=0.25))


@dataclass(frozen=True)
class SlottedModel:
    """A client that lets so many calls through at once."""

    model: PaidModel
    slots: asyncio.Semaphore

    async def complete(self, request: ModelRequest, *, booking: CallBooking = UNBOOKED) -> ModelReply:
        async with self.slots:
            return await self.model.complete(request, booking=booking)


@dataclass(frozen=True)
class Paid:
    """Any model as a client, which lets its replies be stored before they are used."""

    model: LanguageModel

    async def complete(self, request: ModelRequest, *, booking: CallBooking = UNBOOKED) -> ModelReply:
        await booking.send()
        return await booking.keep(await self.model.complete(request))


def call(number: int, *, model: str = PRICED, labels: CallLabels | None = None) -> ModelRequest:
    """One of many different requests."""
    plain = replace(a_request(f"question {number}"), model=model)
    return replace(plain, labels=labels or replace(plain.labels, fingerprint="f" * 12))


def one_model(model: str = "m-1", **changes: object) -> AMemGymRecipe:
    """A small recipe whose every role has the same model."""
    roles = {role: {"model": model} for role in ("writer", "judge", "user_simulator")}
    return small_recipe(models=roles, **changes)


async def spent_in(ledger: Ledger, variant: str = "small", *, before: Spent | None = None) -> Spent:
    """What a budget counts of a variant, on from an earlier count."""

    def read(connection: Connection) -> Spent:
        return spent_so_far(connection, variant, before=before or Spent(), rows=ledger.sound_rows(connection))

    return await ledger.calls.run(read)


@dataclass
class LedgerStores:
    """The stores in a folder, and the models behind them."""

    folder: Path

    def __post_init__(self) -> None:
        self.ledger = Ledger(self.folder / "ledger.sqlite")
        self.replies = open_replies(self.folder / "calls.sqlite")
        self.prices = Prices({})

    def stack(self, model: PaidModel, *, recipe: AMemGymRecipe | None = None, at_once: int = 4) -> LanguageModel:
        """As a run opens it."""
        recipe = recipe or small_recipe()
        ledger = UnitLedger(self.ledger, self.prices, recipe, "small", ADDRESS)
        gate: BudgetGate | None = None
        if recipe.budget != Budget():
            budget = VariantBudget(recipe.variant, recipe.budget, self.prices)
            gate = BudgetGate(self.ledger, budget=budget, longest_try=1.0)
        client = SlottedModel(model, asyncio.Semaphore(at_once))
        paid = PaidCallRecorder(client, ledger, ReplyCache(self.replies, place=NOWHERE), gate)
        return CacheHitRecorder(CachedModel(paid, store=self.replies, mode="use"), ledger)

    def ask(self, model: PaidModel, requests: Sequence[ModelRequest], *, recipe: AMemGymRecipe | None = None) -> list[object]:
        """Replies or errors of all requests, asked at once."""

        async def together() -> list[object]:
            opened = self.stack(model, recipe=recipe)
            return await asyncio.gather(*map(opened.complete, requests), return_exceptions=True)

        return asyncio.run(together())


@contextmanager
def open_stores(folder: Path) -> Generator[LedgerStores, None, None]:
    """Open, and let go."""
    opened = LedgerStores(folder)
    try:
        yield opened
    finally:
        opened.ledger.close()
        opened.replies.close()
