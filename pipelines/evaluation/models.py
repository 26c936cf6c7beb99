"""The models behind a run: chat and embeddings of one endpoint, every call through cache, budget and ledger."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from assets.llm.ports import LanguageModel
from assets.recipe.recipe import Recipe
from pipelines.embedded.bank import model_name
from pipelines.home import Home
from pipelines.resources.cache.reply_cache import CacheMode, open_replies
from pipelines.resources.ledger.ledger import Ledger, ledger_file
from pipelines.resources.ledger.prices import Prices, read_prices
from pipelines.resources.llm.client import Endpoint
from pipelines.resources.llm.embeddings import EmbeddingEndpoint
from pipelines.resources.llm.local import embedded_settings
from pipelines.resources.llm.model_stack import Accounts
from pipelines.resources.llm.settings import EndpointSettings


@dataclass(frozen=True)
class ModelPorts:
    """The models of one run, both as LanguageModels (see `embeddings`), and what their calls cost.

    `at_once`: calls that the endpoint is asked at the same time, at most.
    """

    chat: LanguageModel
    embeddings: LanguageModel
    prices: Prices
    at_once: int


@dataclass(frozen=True)
class Models:
    """An open endpoint. `embedded`: the embedded model's name when it stands in, because no endpoint is configured."""

    chat: Accounts
    embeddings: Accounts
    embedded: str | None

    @property
    def prices(self) -> Prices:
        """The prices at this endpoint."""
        return self.chat.prices

    def of(self, recipe: Recipe) -> ModelPorts:
        """The running loop's way to the models, booked under the recipe's variant and bound by its budget."""
        return ModelPorts(
            chat=self.chat.open_account(recipe, "chat"),
            embeddings=self.embeddings.open_account(recipe, "embeddings"),
            prices=self.prices,
            at_once=self.chat.settings.max_in_flight,
        )


@contextmanager
def open_models(place: Home, *, mode: CacheMode = "use") -> Generator[Models]:
    """Open cache, ledger and endpoint: the environment's, else the embedded model. In "replay" nothing is asked."""
    place.root.mkdir(parents=True, exist_ok=True)
    configured, own_prices = EndpointSettings.from_environment(), read_prices()
    settings = configured or embedded_settings()
    prices = Prices(own_prices, base_url=settings.place)
    if configured:
        prices.load()
    calls, ledger = open_replies(place.calls), Ledger(ledger_file(place))
    try:
        yield Models(
            chat=Accounts(Endpoint(settings), settings, calls, ledger, prices, mode),
            embeddings=Accounts(EmbeddingEndpoint(settings), settings, calls, ledger, prices, mode),
            embedded=None if configured else model_name(),
        )
    finally:
        calls.close()
        ledger.close()
