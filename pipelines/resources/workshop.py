"""What stands behind the stages' ports: endpoint or embedded model, call cache, ledger, work store, snapshots."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

from assets.amemgym.pipeline import STAGES
from assets.engine.run_context import Workshop
from assets.llm.ports import StageProgress
from pipelines.embedded.bank import model_name
from pipelines.home import Home
from pipelines.planning.shape import calls_per_user
from pipelines.resources.accounts import Accounts
from pipelines.resources.batch import BatchedModel
from pipelines.resources.batch_book import BatchBook, batch_file
from pipelines.resources.batch_hall import BatchPlan
from pipelines.resources.batch_run import Watch
from pipelines.resources.call_cache import CachedModel, CacheMode, open_replies
from pipelines.resources.embedded import embedded_settings
from pipelines.resources.embeddings import EmbeddingEndpoint, ModelEmbedder
from pipelines.resources.endpoint import Endpoint
from pipelines.resources.endpoint_settings import EndpointSettings
from pipelines.resources.ledger import Ledger, ledger_file
from pipelines.resources.prices import Prices, read_prices
from pipelines.resources.snapshots import ParquetSnapshots
from pipelines.resources.work import KeptWork


@contextmanager
def open_workshop(
    place: Home,
    *,
    users_at_once: int = 32,
    report: Callable[[StageProgress], None] | None = None,
    watch: Watch | None = None,
    mode: CacheMode = "use",
) -> Generator[Workshop, None, None]:
    """Open the stores and the model for one run. The endpoint is the environment's, else the embedded model.

    `report` is told how the stages get on, `watch` how batch jobs do; in mode `replay` no endpoint is asked.
    """
    place.root.mkdir(parents=True, exist_ok=True)
    configured, own_prices = EndpointSettings.from_environment(), read_prices()
    settings = configured or embedded_settings()
    endpoint, prices = Endpoint(settings), Prices(own_prices, base_url=settings.place)
    if configured:
        prices.load()
    calls, work, ledger = open_replies(place.calls), KeptWork(place.work), Ledger(ledger_file(place))
    jobs = BatchBook(batch_file(place), place=settings.place)
    road = BatchedModel(BatchPlan(endpoint, settings, jobs, watch=watch), cache=calls)
    embeddings = Accounts(EmbeddingEndpoint(settings), settings, calls, ledger, prices, mode)
    try:
        yield Workshop(
            model=CachedModel(road, store=calls, mode=mode),
            snapshots=ParquetSnapshots(place.snapshots),
            stages=STAGES,
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
