"""The way to a model through cache, budget and ledger: where every call is paid, or found paid."""

import asyncio
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from assets.llm.ports import LanguageModel
from assets.recipe.recipe import Budget, Recipe
from pipelines.resources.cache.reply_cache import CachedModel, CacheMode
from pipelines.resources.ledger.budget import BudgetedModel, Purse, till_for
from pipelines.resources.ledger.ledger import Ledger
from pipelines.resources.ledger.prices import Prices
from pipelines.resources.ledger.recording import Book, BookedCalls, BookedHits
from pipelines.resources.llm.batch.settings import MOST_LINES
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.key_value import KeyedStore

Opened = WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, LanguageModel]]


@dataclass(frozen=True)
class Accounts:
    """Where calls are paid: opens the way to the model for one work unit of a recipe."""

    road: LanguageModel
    settings: EndpointSettings
    replies: KeyedStore
    ledger: Ledger
    prices: Prices
    mode: CacheMode = "use"
    opened: Opened = field(default_factory=Opened)

    def open_account(self, recipe: Recipe, unit: str) -> LanguageModel:
        """The running loop's account of this unit: stages at work at the same time share one, with its slots and locks."""
        accounts = self.opened.setdefault(asyncio.get_running_loop(), {})
        return accounts.setdefault(f"{recipe.sha256()} {unit}", self._open(recipe, unit))

    def _open(self, recipe: Recipe, unit: str) -> LanguageModel:
        """From outside: hits are booked, then the call cache, then the budget, then paid calls are booked."""
        book = Book(self.ledger, self.prices, recipe, unit, self.settings.place)
        paid: LanguageModel = BookedCalls(self.road, book)
        # Few slots would make small batch jobs, one after another.
        at_once = MOST_LINES if recipe.models.batched else self.settings.max_in_flight
        if recipe.budget != Budget():
            purse = Purse(recipe.variant, recipe.budget, self.prices)
            till = till_for(self.ledger, variant=recipe.variant)
            paid = BudgetedModel(paid, purse=purse, till=till, at_once=at_once)
        return BookedHits(CachedModel(paid, store=self.replies, mode=self.mode, at_once=at_once), book)
