"""Opens the models and the stores for generation, evaluation, experiments and prompt trials.

A call passes, from outside: recorder of cache hits, reply cache, budget, recorder of paid calls, client (batch jobs or
live). The client is the environment's endpoint, else the embedded model. This module also decides whether limits and
counters belong to this process or are shared by all workers.
"""

import asyncio
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import TypeVar
from weakref import WeakKeyDictionary

import httpx2

from assets.engine.ports import StageProgress
from assets.engine.run_context import RunContext
from assets.llm.ports import LanguageModel
from assets.recipe.recipe import Budget, Recipe
from pipelines.embedded.app import create_app
from pipelines.embedded.bank import model_name
from pipelines.home import Home
from pipelines.planning.prompt_calls import calls_per_user
from pipelines.resources.cache.record_cache import SqlRecordCache
from pipelines.resources.cache.reply_cache import CachedModel, CacheMode, open_replies
from pipelines.resources.ledger.budget import BudgetCounter, BudgetedModel, LocalBudgetCounter, VariantBudget
from pipelines.resources.ledger.ledger import CacheHitRecorder, Ledger, PaidCallRecorder, UnitLedger, ledger_file
from pipelines.resources.ledger.prices import Prices, read_prices
from pipelines.resources.llm.batch.job import OnBatchProgress
from pipelines.resources.llm.batch.queue import BatchedModel, BatchResources
from pipelines.resources.llm.batch.settings import MAX_LINES
from pipelines.resources.llm.batch.store import BatchStore, batch_file
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.embeddings import EmbeddingClient, ModelEmbedder
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.key_value import KeyValueStore
from pipelines.resources.storage.open_database import shared_database
from pipelines.resources.storage.open_stores import snapshot_files
from pipelines.resources.storage.snapshots import ParquetSnapshots
from pipelines.resources.storage.sqlite import SqliteFile

Client = TypeVar("Client", bound=ModelClient)
ModelsByLoop = WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, LanguageModel]]
EMBEDDED_URL = "http://embedded.model/v1"


def embedded_settings() -> EndpointSettings:
    """The embedded model in process, through the real client and the real HTTP interface."""
    return EndpointSettings(base_url=EMBEDDED_URL, transport=httpx2.ASGITransport(app=create_app()))


def open_client(settings: EndpointSettings, *, kind: type[Client]) -> Client:
    """A client with the limits of this process, or with those that all workers share."""
    if not shared_database() or settings.transport is not None:
        return kind(settings)
    # Imported only where they are used: their database driver belongs to the extra `cluster`.
    from pipelines.cluster.concurrency_limit import SharedConcurrencyLimit
    from pipelines.cluster.rate_limiter import SharedRateLimiter

    limited = settings.requests_per_minute or settings.tokens_per_minute
    return kind(
        settings,
        rate_limiter=SharedRateLimiter(settings) if limited else None,
        new_limit=lambda: SharedConcurrencyLimit(settings),
    )


def open_budget_counter(ledger: Ledger, *, variant: str) -> BudgetCounter:
    """The variant's counter: calls under way at other workers count where they share a database."""
    if isinstance(ledger.calls.database, SqliteFile):
        return LocalBudgetCounter(ledger, variant=variant)
    from pipelines.cluster.budget import SharedBudgetCounter  # needs the driver of the extra `cluster`

    return SharedBudgetCounter(ledger, variant=variant)


@dataclass(frozen=True)
class ModelStack:
    """A client with cache, ledger and prices; opens the model for one work unit of a recipe."""

    client: LanguageModel
    settings: EndpointSettings
    replies: KeyValueStore
    ledger: Ledger
    prices: Prices
    mode: CacheMode = "use"
    _opened: ModelsByLoop = field(default_factory=ModelsByLoop)

    def open_model(self, recipe: Recipe, unit: str) -> LanguageModel:
        """The running loop's model of this unit: stages at work at the same time share one, with its limits and locks."""
        models = self._opened.setdefault(asyncio.get_running_loop(), {})
        return models.setdefault(f"{recipe.sha256()} {unit}", self._stack(recipe, unit))

    def _stack(self, recipe: Recipe, unit: str) -> LanguageModel:
        ledger = UnitLedger(self.ledger, self.prices, recipe, unit, self.settings.address)
        paid: LanguageModel = PaidCallRecorder(self.client, ledger)
        # A low limit would make small batch jobs, one after another.
        at_once = MAX_LINES if recipe.models.batched else self.settings.max_in_flight
        if recipe.budget != Budget():
            budget = VariantBudget(recipe.variant, recipe.budget, self.prices)
            counter = open_budget_counter(self.ledger, variant=recipe.variant)
            paid = BudgetedModel(paid, budget=budget, counter=counter, at_once=at_once)
        return CacheHitRecorder(CachedModel(paid, store=self.replies, mode=self.mode, at_once=at_once), ledger)


@dataclass(frozen=True)
class ModelPorts:
    """The models of one recipe, both as LanguageModels (see `embeddings`), and what their calls cost.

    `at_once`: calls that the endpoint is asked at the same time, at most.
    """

    chat: LanguageModel
    embeddings: LanguageModel
    prices: Prices
    at_once: int


@dataclass(frozen=True)
class OpenModels:
    """An open endpoint. `embedded`: the embedded model's name where it is used because no endpoint is configured."""

    chat: ModelStack
    embeddings: ModelStack
    embedded: str | None

    @property
    def prices(self) -> Prices:
        return self.chat.prices

    def for_recipe(self, recipe: Recipe) -> ModelPorts:
        """The running loop's models, recorded under the recipe's variant and bound by its budget."""
        return ModelPorts(
            chat=self.chat.open_model(recipe, "chat"),
            embeddings=self.embeddings.open_model(recipe, "embeddings"),
            prices=self.prices,
            at_once=self.chat.settings.max_in_flight,
        )


@contextmanager
def open_models(
    home: Home, *, mode: CacheMode = "use", on_batch_progress: OnBatchProgress | None = None
) -> Generator[OpenModels]:
    """Open cache, ledger, batch jobs and clients. In mode "replay" no endpoint is asked."""
    home.root.mkdir(parents=True, exist_ok=True)
    configured, own_prices = EndpointSettings.from_environment(), read_prices()
    settings = configured or embedded_settings()
    prices = Prices(own_prices, base_url=settings.address)
    if configured:
        prices.load()
    with (
        closing(open_replies(home.calls)) as replies,
        closing(Ledger(ledger_file(home))) as ledger,
        closing(BatchStore(batch_file(home), address=settings.address)) as batches,
    ):
        client = open_client(settings, kind=ModelClient)
        resources = BatchResources(client, settings, batches, on_progress=on_batch_progress)
        # The embedded model has no Batch API and answers at once.
        chat = BatchedModel(resources, cache=replies) if configured else client
        embeddings = open_client(settings, kind=EmbeddingClient)
        yield OpenModels(
            chat=ModelStack(chat, settings, replies, ledger, prices, mode),
            embeddings=ModelStack(embeddings, settings, replies, ledger, prices, mode),
            embedded=None if configured else model_name(),
        )


@contextmanager
def open_run_context(
    home: Home,
    *,
    items_at_once: int = 32,
    report: Callable[[StageProgress], None] | None = None,
    on_batch_progress: OnBatchProgress | None = None,
    mode: CacheMode = "use",
) -> Generator[RunContext, None, None]:
    """Open the models and the stores for one generation run. `report` gets the progress of the stages."""
    with (
        open_models(home, mode=mode, on_batch_progress=on_batch_progress) as models,
        closing(SqlRecordCache(home.work)) as work,
    ):
        chat, embeddings = models.chat, models.embeddings
        yield RunContext(
            model=CachedModel(chat.client, store=chat.replies, mode=mode),
            snapshots=ParquetSnapshots(snapshot_files(home)),
            record_cache=work,
            items_at_once=items_at_once,
            report=report,
            expected_calls=calls_per_user,
            embedded_model=models.embedded,
            open_model=chat.open_model,
            open_embedder=lambda recipe, unit: ModelEmbedder(embeddings.open_model(recipe, unit), stage="quality_report"),
        )
