"""What stands behind the stages' ports: endpoint or embedded model, call cache, ledger, work store, snapshots."""

import asyncio
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from weakref import WeakKeyDictionary

import dagster as dg

from assets.chain import STAGES
from assets.ports import LanguageModel, StageProgress
from assets.records.recipe import Budget, Recipe
from assets.workshop import Workshop
from pipelines.embedded.bank import model_name
from pipelines.home import Home, home
from pipelines.resources.batch import BatchedModel
from pipelines.resources.batch_book import BatchBook, batch_file
from pipelines.resources.batch_hall import BatchPlan
from pipelines.resources.batch_run import Watch
from pipelines.resources.batch_settings import MOST_LINES, BatchProgress, batch_line
from pipelines.resources.budget import BudgetedModel, Tally
from pipelines.resources.call_cache import CachedModel, open_replies
from pipelines.resources.embedded import embedded_settings
from pipelines.resources.endpoint import Endpoint
from pipelines.resources.endpoint_settings import EndpointSettings
from pipelines.resources.keyed_store import KeyedStore
from pipelines.resources.ledger import Ledger, ledger_file
from pipelines.resources.ledger_book import Book, BookedCalls, BookedHits
from pipelines.resources.prices import Prices, read_prices
from pipelines.resources.snapshots import ParquetSnapshots
from pipelines.resources.work import SqliteWork

Opened = WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, LanguageModel]]


@dataclass(frozen=True)
class Accounts:
    """Where calls are paid: opens the way to the model for one work unit of a recipe."""

    road: LanguageModel
    settings: EndpointSettings
    replies: KeyedStore
    ledger: Ledger
    prices: Prices
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
            tally = Tally(self.ledger, variant=recipe.variant, prices=self.prices)
            paid = BudgetedModel(paid, budget=recipe.budget, tally=tally, at_once=at_once)
        return BookedHits(CachedModel(paid, store=self.replies, mode="use", at_once=at_once), book)


@contextmanager
def open_workshop(
    place: Home,
    *,
    users_at_once: int = 32,
    report: Callable[[StageProgress], None] | None = None,
    watch: Watch | None = None,
) -> Generator[Workshop, None, None]:
    """Open the stores and the model for one run. The endpoint is the environment's, else the embedded model.

    `report` is told how the stages get on, `watch` how batch jobs do.
    """
    place.root.mkdir(parents=True, exist_ok=True)
    configured, own_prices = EndpointSettings.from_environment(), read_prices()
    settings = configured or embedded_settings()
    endpoint, prices = Endpoint(settings), Prices(own_prices, base_url=settings.place)
    if configured:
        prices.load()
    calls, work, ledger = open_replies(place.calls), SqliteWork(place.work), Ledger(ledger_file(place))
    jobs = BatchBook(batch_file(place), place=settings.place)
    road = BatchedModel(BatchPlan(endpoint, settings, jobs, watch=watch), cache=calls)
    try:
        yield Workshop(
            model=CachedModel(road, store=calls, mode="use"),
            snapshots=ParquetSnapshots(place.snapshots),
            stages=STAGES,
            work=work,
            users_at_once=users_at_once,
            report=report,
            embedded_model=None if configured else model_name(),
            open_account=Accounts(road, settings, calls, ledger, prices).open_account,
        )
    finally:
        calls.close()
        ledger.close()
        jobs.close()
        work.close()


class WorkshopResource(dg.ConfigurableResource[Workshop]):
    """The workshop of a Dagster run. Address and key of the endpoint come from the environment, never from config."""

    users_at_once: int = 32

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Generator[Workshop, None, None]:
        """Open it for the run."""

        def tell(progress: BatchProgress) -> None:
            if context.log is not None:
                context.log.info(batch_line(progress))

        with open_workshop(home(), users_at_once=self.users_at_once, watch=tell) as workshop:
            yield workshop


class ReleaseFolder(dg.ConfigurableResource[Path]):
    """Where releases are written."""

    def create_resource(self, context: dg.InitResourceContext) -> Path:
        """The folder of this installation."""
        return home().releases
