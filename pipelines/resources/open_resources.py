"""What stands behind the stages' ports: endpoint or embedded model, call cache, ledger, work store, snapshots."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from assets.engine.run_context import RunContext
from assets.llm.ports import StageProgress
from pipelines.embedded.bank import model_name
from pipelines.home import Home
from pipelines.planning.shape import calls_per_user
from pipelines.resources.cache.record_cache import SqlRecordCache
from pipelines.resources.cache.reply_cache import CachedModel, CacheMode, open_replies
from pipelines.resources.ledger.ledger import Ledger, ledger_file
from pipelines.resources.ledger.prices import Prices, read_prices
from pipelines.resources.llm.batch.dispatcher import BatchPlan
from pipelines.resources.llm.batch.job import Watch
from pipelines.resources.llm.batch.model import BatchedModel
from pipelines.resources.llm.batch.store import BatchBook, batch_file
from pipelines.resources.llm.client import Endpoint
from pipelines.resources.llm.embeddings import EmbeddingEndpoint, ModelEmbedder
from pipelines.resources.llm.local import embedded_settings
from pipelines.resources.llm.model_stack import Accounts
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.storage.snapshots import ParquetSnapshots


@contextmanager
def open_run_context(
    place: Home,
    *,
    users_at_once: int = 32,
    report: Callable[[StageProgress], None] | None = None,
    watch: Watch | None = None,
    mode: CacheMode = "use",
) -> Generator[RunContext, None, None]:
    """Open the stores and the model for one run. The endpoint is the environment's, else the embedded model.

    `report` is told how the stages get on, `watch` how batch jobs do; in mode `replay` no endpoint is asked.
    """
    place.root.mkdir(parents=True, exist_ok=True)
    configured, own_prices = EndpointSettings.from_environment(), read_prices()
    settings = configured or embedded_settings()
    endpoint, prices = Endpoint(settings), Prices(own_prices, base_url=settings.place)
    if configured:
        prices.load()
    calls, work, ledger = open_replies(place.calls), SqlRecordCache(place.work), Ledger(ledger_file(place))
    jobs = BatchBook(batch_file(place), place=settings.place)
    road = BatchedModel(BatchPlan(endpoint, settings, jobs, watch=watch), cache=calls)
    embeddings = Accounts(EmbeddingEndpoint(settings), settings, calls, ledger, prices, mode)
    try:
        yield RunContext(
            model=CachedModel(road, store=calls, mode=mode),
            snapshots=ParquetSnapshots(place.snapshots),
            work=work,
            users_at_once=users_at_once,
            report=report,
            expected_calls=calls_per_user,
            embedded_model=None if configured else model_name(),
            open_account=Accounts(road, settings, calls, ledger, prices, mode).open_account,
            open_embedder=lambda recipe, unit: ModelEmbedder(embeddings.open_account(recipe, unit), stage="quality_report"),
        )
    finally:
        calls.close()
        ledger.close()
        jobs.close()
        work.close()
