"""What stands behind the stages' ports: endpoint or embedded model, call cache, ledger, work store, snapshots."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dagster as dg
import httpx2

from assets.ports import LanguageModel, StageProgress, Workshop
from assets.records.recipe import Budget, Recipe
from pipelines.embedded.app import create_app
from pipelines.embedded.bank import model_name
from pipelines.home import Home, home
from pipelines.resources.budget import BudgetedModel, Tally
from pipelines.resources.call_cache import CachedModel, open_replies
from pipelines.resources.endpoint import Endpoint
from pipelines.resources.endpoint_settings import EndpointSettings
from pipelines.resources.keyed_store import KeyedStore
from pipelines.resources.ledger import Ledger, ledger_file
from pipelines.resources.ledger_book import Book, BookedCalls, BookedHits
from pipelines.resources.prices import Prices, read_prices
from pipelines.resources.snapshots import ParquetSnapshots
from pipelines.resources.work import SqliteWork

EMBEDDED_URL = "http://embedded.model/v1"


def embedded_settings() -> EndpointSettings:
    """The embedded model, reached in process through the real client and the real HTTP interface."""
    return EndpointSettings(base_url=EMBEDDED_URL, transport=httpx2.ASGITransport(app=create_app()))


@dataclass(frozen=True)
class Accounts:
    """Where calls are paid: opens the way to the model for one work unit of a recipe."""

    endpoint: Endpoint
    settings: EndpointSettings
    replies: KeyedStore
    ledger: Ledger
    prices: Prices

    def open_account(self, recipe: Recipe, unit: str) -> LanguageModel:
        """From outside: hits are booked, then the call cache, then the budget, then paid calls are booked."""
        book = Book(self.ledger, self.prices, recipe, unit, self.settings.place)
        paid: LanguageModel = BookedCalls(self.endpoint, book)
        if recipe.budget != Budget():
            tally = Tally(self.ledger, variant=recipe.variant, prices=self.prices)
            paid = BudgetedModel(paid, budget=recipe.budget, tally=tally, at_once=self.settings.max_in_flight)
        return BookedHits(CachedModel(paid, store=self.replies, mode="use"), book)


@contextmanager
def open_workshop(
    place: Home, *, users_at_once: int = 32, report: Callable[[StageProgress], None] | None = None
) -> Generator[Workshop, None, None]:
    """Open the stores and the model for one run. The endpoint is the environment's, else the embedded model."""
    place.root.mkdir(parents=True, exist_ok=True)
    configured, own_prices = EndpointSettings.from_environment(), read_prices()
    settings = configured or embedded_settings()
    endpoint, prices = Endpoint(settings), Prices(own_prices, base_url=settings.place)
    calls, work, ledger = open_replies(place.calls), SqliteWork(place.work), Ledger(ledger_file(place))
    try:
        yield Workshop(
            model=CachedModel(endpoint, store=calls, mode="use"),
            snapshots=ParquetSnapshots(place.snapshots),
            work=work,
            users_at_once=users_at_once,
            report=report,
            embedded_model=None if configured else model_name(),
            open_account=Accounts(endpoint, settings, calls, ledger, prices).open_account,
        )
    finally:
        calls.close()
        ledger.close()
        work.close()


class WorkshopResource(dg.ConfigurableResource[Workshop]):
    """The workshop of a Dagster run. Address and key of the endpoint come from the environment, never from config."""

    users_at_once: int = 32

    @contextmanager
    def yield_for_execution(self, context: dg.InitResourceContext) -> Generator[Workshop, None, None]:
        """Open it for the run."""
        with open_workshop(home(), users_at_once=self.users_at_once) as workshop:
            yield workshop


class ReleaseFolder(dg.ConfigurableResource[Path]):
    """Where releases are written."""

    def create_resource(self, context: dg.InitResourceContext) -> Path:
        """The folder of this installation."""
        return home().releases
