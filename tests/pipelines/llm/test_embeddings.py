"""Embeddings come from `/v1/embeddings`, behind the same retries and cache as chat, without loss."""

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assets.llm.ports import EndpointError
from pipelines.embedded.bank import model_name
from pipelines.embedded.reader import embedding
from pipelines.resources.llm.embeddings import LARGEST_BATCH, EmbeddingClient, ModelEmbedder, pack_vector, unpack_vector
from pipelines.resources.llm.settings import EndpointSettings
from pipelines.resources.open import embedded_settings
from tests.support.coroutines import run

TEXTS = ["I drink tea.", "", "I ride a bicycle to work."]


def test_the_vectors_are_the_services_in_the_order_of_the_texts() -> None:
    found = run(ModelEmbedder(EmbeddingClient(embedded_settings())).embed(TEXTS, model=model_name()))

    assert [list(vector) for vector in found] == [pytest.approx(embedding(text)) for text in TEXTS]


def test_many_texts_travel_in_several_requests() -> None:
    texts = [f"text {number}" for number in range(LARGEST_BATCH + 3)]

    assert len(run(ModelEmbedder(EmbeddingClient(embedded_settings())).embed(texts, model=model_name()))) == len(texts)


def test_an_unknown_model_is_one_sentence() -> None:
    with pytest.raises(EndpointError, match="does not know the model 'text-embedding-9'"):
        run(ModelEmbedder(EmbeddingClient(embedded_settings())).embed(["tea"], model="text-embedding-9"))


def test_a_service_that_leaves_a_text_out_is_asked_again() -> None:
    asked: list[int] = []

    async def embed(request: Request) -> Response:
        asked.append(1)
        places = [0] if len(asked) == 1 else [1, 0]  # in any order
        return JSONResponse({"data": [{"index": place, "embedding": [float(place)]} for place in places]})

    app = Starlette(routes=[Route("/v1/embeddings", embed, methods=["POST"])])
    settings = EndpointSettings(base_url="http://test/v1", transport=httpx2.ASGITransport(app=app), backoff_seconds=0.001)

    assert run(ModelEmbedder(EmbeddingClient(settings)).embed(["a", "b"], model="m")) == [(0.0,), (1.0,)]
    assert len(asked) == 2


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=9))
def test_a_vector_survives_its_packing(vector: list[float]) -> None:
    assert list(unpack_vector(pack_vector(vector))) == vector
