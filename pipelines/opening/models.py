"""Opens the models and the stores for generation, evaluation and experiments.

A call passes these layers, outermost first: recorder of cache hits, reply cache, recorder of paid calls, which books each try
within the budget, and client (batch jobs or live). The client asks the environment's endpoint, else the embedded model. This
module also decides whether limits belong to this process or are shared by all workers.
"""

import asyncio
import json
from collections.abc import Callable, Generator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import httpx2

from assets.engine.in_flight import InFlight
from assets.engine.ports import RunContext, StageProgress
from assets.engine.run_loop import RunLoop
from assets.llm.ports import EndpointError, LanguageModel
from assets.recipe.model_policy import ROLES
from assets.recipe.recipe import Budget
from pipelines.embedded.app import embedded_app
from pipelines.embedded.bank import EMBEDDED_URL, model_name
from pipelines.home import Home, begin_home
from pipelines.redaction import variable_told_by
from pipelines.resources.cache.reply_cache import (
    NOWHERE,
    CachedModel,
    CacheMode,
    Place,
    ReplyCache,
    SqlRecordCache,
    open_replies,
)
from pipelines.resources.ledger.budget import BudgetGate, VariantBudget, budget_with_tags
from pipelines.resources.ledger.ledger import Account, CacheHitRecorder, Ledger, UnitLedger, ledger_file
from pipelines.resources.ledger.paid_calls import PaidCallRecorder, PaidModel
from pipelines.resources.ledger.prices import Prices, read_prices
from pipelines.resources.llm.batch.settings import MAX_LINES, OnBatchProgress
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.embeddings import ModelEmbedder, OpenAiEmbeddings
from pipelines.resources.llm.limits.concurrency import AdaptiveLimit
from pipelines.resources.llm.model_api import ModelApi, OpenAiChat
from pipelines.resources.llm.place import EndpointPlace
from pipelines.resources.llm.reply_origins import ReplyOrigins
from pipelines.resources.llm.settings import EndpointSettings, runs_at_once
from pipelines.resources.storage.key_value import KeyValueStore
from pipelines.resources.storage.open_database import SHARED, shared_database
from pipelines.resources.storage.open_stores import snapshot_files
from pipelines.resources.storage.snapshots import ParquetSnapshots

ModelsByLoop = WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, LanguageModel]]
FindEndpoint = Callable[[], EndpointSettings | None]  # None: the embedded model


def embedded_settings() -> EndpointSettings:
    """Return settings that reach the embedded model in this process, through the real client and HTTP interface."""
    return EndpointSettings(base_url=EMBEDDED_URL, transport=httpx2.ASGITransport(app=embedded_app()))


def open_client(settings: EndpointSettings, *, api: ModelApi) -> ModelClient:
    """Return a client. Its rate limits are per process, or shared by all workers that share a database."""
    limited = settings.requests_per_minute or settings.tokens_per_minute
    if not limited or not shared_database() or settings.transport is not None:
        return ModelClient(settings, api=api)
    return ModelClient(settings, api=api, rate_limiter=SHARED["rate_limit"](settings))


def share_of_run(settings: EndpointSettings) -> EndpointSettings:
    """Return the settings with this run's share of the calls in flight, at least one, if runs share a database.

    Raises Problem if the configured number of concurrent runs is not 1 or more.
    """
    if not shared_database() or settings.transport is not None:
        return settings
    return settings.model_copy(update={"max_in_flight": max(1, settings.max_in_flight // runs_at_once())})


@dataclass(frozen=True)
class ModelStack:
    """A client with cache, ledger and prices; opens the model for one work unit of an account.

    `tags`: the Dagster run's tags, which may change the recipe's budget.
    """

    client: PaidModel
    settings: EndpointSettings
    replies: KeyValueStore
    ledger: Ledger
    prices: Prices
    mode: CacheMode = "use"
    place: Place = NOWHERE
    tags: Mapping[str, str] = field(default_factory=dict[str, str])
    _opened: ModelsByLoop = field(default_factory=ModelsByLoop)

    def open_model(self, account: Account, unit: str) -> LanguageModel:
        """Return the unit's model for the running event loop. Stages that run at the same time share it and its limits."""
        models = self._opened.setdefault(asyncio.get_running_loop(), {})
        return models.setdefault(f"{account.sha256()} {unit}", self._stack(account, unit))

    def _stack(self, account: Account, unit: str) -> LanguageModel:
        for role in ROLES:
            variable = variable_told_by(json.dumps(account.models.for_role(role).extra_body))
            if variable:
                raise EndpointError(
                    f"models.{role}.extra_body holds the secret in {variable}, and a release publishes that field; remove it, "
                    "and send it as a header, with the variable AMEMGYM_HEADERS."
                )
        ledger = UnitLedger(self.ledger, self.prices, account, unit, self.settings.address)
        kept = ReplyCache(self.replies, place=self.place) if self.mode == "use" else None
        limits = budget_with_tags(account.budget, self.tags)
        gate: BudgetGate | None = None
        if limits != Budget():
            budget = VariantBudget(account.variant, limits, self.prices)
            gate = BudgetGate(self.ledger, budget=budget, longest_try=self.settings.timeout_seconds)
        paid = PaidCallRecorder(self.client, ledger, kept, gate)
        # With a low limit, batch jobs would be small and run one after another.
        most = MAX_LINES if account.batched else self.settings.max_in_flight
        limit = AdaptiveLimit(start=most, ceiling=most)
        cached = CachedModel(paid, store=self.replies, mode=self.mode, limit=limit, place=self.place)
        return CacheHitRecorder(cached, ledger)


@dataclass(frozen=True)
class ModelPorts:
    """One account's chat and embedding models, both with the LanguageModel interface, and the prices of their calls."""

    chat: LanguageModel
    embeddings: LanguageModel
    prices: Prices


def embedded_ports(prices: Prices) -> ModelPorts:
    """Return the embedded model without cache and ledger, for calls that belong to no account."""
    settings = embedded_settings()
    chat = open_client(settings, api=OpenAiChat())
    embeddings = open_client(settings, api=OpenAiEmbeddings())
    return ModelPorts(chat, embeddings, prices)


@dataclass(frozen=True)
class OpenModels:
    """The models of an open endpoint. `embedded`: the embedded model's name if no endpoint is configured, else None.

    `place`: the endpoint's address, and what its server says about each model.
    """

    chat: ModelStack
    embeddings: ModelStack
    embedded: str | None
    place: Place

    @property
    def prices(self) -> Prices:
        return self.chat.prices

    def for_account(self, account: Account) -> ModelPorts:
        """Return the account's models for the running event loop. Calls count toward its variant's ledger and budget."""
        return ModelPorts(
            chat=self.chat.open_model(account, "chat"),
            embeddings=self.embeddings.open_model(account, "embeddings"),
            prices=self.prices,
        )


@contextmanager
def open_models(
    home: Home,
    *,
    mode: CacheMode = "use",
    on_batch_progress: OnBatchProgress | None = None,
    tags: Mapping[str, str] | None = None,
    find_endpoint: FindEndpoint = EndpointSettings.from_environment,
) -> Generator[OpenModels]:
    """Open cache, ledger, batch jobs and clients. In mode "replay" no request is sent."""
    begin_home(home)
    configured = find_endpoint()
    settings = share_of_run(configured) if configured else embedded_settings()
    prices = Prices(read_prices(), base_url=settings.address)
    if configured:
        prices.load()
    with (
        closing(open_replies(home.calls)) as replies,
        closing(Ledger(ledger_file(home))) as ledger,
        ExitStack() as opened,
    ):
        origins = ReplyOrigins()
        client = open_client(settings, api=OpenAiChat(origins))
        place = EndpointPlace(settings, replies=replies, ask=mode != "replay") if configured else NOWHERE
        chat: PaidModel = client
        if configured:
            # Imported late: the embedded model has no Batch API and answers at once.
            from pipelines.resources.llm.batch.queue import BatchedModel, BatchResources
            from pipelines.resources.llm.batch.store import BatchStore, batch_file

            batches = opened.enter_context(closing(BatchStore(batch_file(home), address=settings.address)))
            resources = BatchResources(client, settings, batches, on_progress=on_batch_progress, place=place, origins=origins)
            chat = BatchedModel(resources, cache=replies)
        embeddings = open_client(settings, api=OpenAiEmbeddings())
        yield OpenModels(
            chat=ModelStack(chat, settings, replies, ledger, prices, mode, place, tags or {}),
            embeddings=ModelStack(embeddings, settings, replies, ledger, prices, mode, place, tags or {}),
            embedded=None if configured else model_name(),
            place=place,
        )


@contextmanager
def open_run_context(
    home: Home,
    *,
    items_at_once: int = 32,
    report: Callable[[StageProgress], None] | None = None,
    report_step: Callable[[str, bool], None] | None = None,
    on_batch_progress: OnBatchProgress | None = None,
    mode: CacheMode = "use",
    tags: Mapping[str, str] | None = None,
    find_endpoint: FindEndpoint = EndpointSettings.from_environment,
) -> Generator[RunContext, None, None]:
    """Open the models and stores of one generation run. `report` and `report_step` are called with its progress."""
    in_flight = InFlight()
    with (
        open_models(home, mode=mode, on_batch_progress=on_batch_progress, tags=tags, find_endpoint=find_endpoint) as models,
        closing(SqlRecordCache(home.work, place=models.place)) as work,
        RunLoop(at_end=in_flight.cancel) as loop,
    ):
        chat = models.chat
        embeddings = models.embeddings
        yield RunContext(
            model=CachedModel(chat.client, store=chat.replies, mode=mode, place=models.place),
            snapshots=ParquetSnapshots(snapshot_files(home)),
            record_cache=work,
            items_at_once=items_at_once,
            report=report,
            report_step=report_step,
            embedded_model=models.embedded,
            open_model=chat.open_model,
            open_embedder=lambda recipe, unit: ModelEmbedder(embeddings.open_model(recipe, unit), stage="quality_report"),
            in_flight=in_flight,
            loop=loop,
        )
