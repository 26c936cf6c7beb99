"""The models behind a run: chat and embeddings of one endpoint, every reply through the call cache."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass

from assets.ports import LanguageModel
from pipelines.embedded.bank import model_name
from pipelines.evaluation.embeddings import Embedder, EmbeddingEndpoint, ModelEmbedder
from pipelines.home import Home
from pipelines.resources.call_cache import CachedModel, CacheMode, open_replies
from pipelines.resources.embedded import embedded_settings
from pipelines.resources.endpoint import Endpoint
from pipelines.resources.endpoint_settings import EndpointSettings


@dataclass(frozen=True)
class ModelPorts:
    """`embedded`: the embedded model's name when it stands in for all, because no endpoint is configured."""

    chat: LanguageModel
    embedder: Embedder
    embedded: str | None


@contextmanager
def open_models(place: Home, *, mode: CacheMode = "use") -> Generator[ModelPorts]:
    """Open the call cache and the endpoint: the environment's, else the embedded model. In "replay" nothing is asked."""
    place.root.mkdir(parents=True, exist_ok=True)
    configured = EndpointSettings.from_environment()
    settings = configured or embedded_settings()
    calls = open_replies(place.calls)
    try:
        yield ModelPorts(
            chat=CachedModel(Endpoint(settings), store=calls, mode=mode),
            embedder=ModelEmbedder(CachedModel(EmbeddingEndpoint(settings), store=calls, mode=mode)),
            embedded=None if configured else model_name(),
        )
    finally:
        calls.close()
