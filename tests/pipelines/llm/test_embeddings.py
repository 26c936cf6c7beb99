"""Embeddings come from `/v1/embeddings`, behind the same retries and cache as chat, without loss."""

import asyncio
import json
import math
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from assets.llm.ports import EndpointError, ModelReply, RequestFailed, Vector
from pipelines.embedded.bank import model_name
from pipelines.embedded.reader import embedding
from pipelines.opening.models import embedded_settings
from pipelines.resources.cache.reply_cache import CachedModel, CacheMode, open_replies
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.embeddings import LARGEST_BATCH, ModelEmbedder, OpenAiEmbeddings, pack_vector, unpack_vector
from pipelines.resources.llm.settings import EndpointSettings
from tests.pipelines.llm.scripted_server import a_request
from tests.support.coroutines import run

TEXTS = ["I drink tea.", "", "I ride a bicycle to work."]


def test_the_vectors_are_the_services_in_the_order_of_the_texts() -> None:
    found = run(ModelEmbedder(ModelClient(embedded_settings(), api=OpenAiEmbeddings())).embed(TEXTS, model=model_name()))

    assert [list(vector) for vector in found] == [pytest.approx(embedding(text)) for text in TEXTS]


def test_many_texts_travel_in_several_requests() -> None:
    texts = [f"text {number}" for number in range(LARGEST_BATCH + 3)]

    assert len(
        run(ModelEmbedder(ModelClient(embedded_settings(), api=OpenAiEmbeddings())).embed(texts, model=model_name()))
    ) == len(texts)


def test_an_unknown_model_is_one_sentence() -> None:
    with pytest.raises(EndpointError, match="does not know the model 'text-embedding-9'"):
        run(ModelEmbedder(ModelClient(embedded_settings(), api=OpenAiEmbeddings())).embed(["tea"], model="text-embedding-9"))


def test_a_service_that_leaves_a_text_out_is_asked_again() -> None:
    asked: list[int] = []

    async def embed(request: Request) -> Response:
        asked.append(1)
        places = [0] if len(asked) == 1 else [1, 0]  # in any order
        return JSONResponse({"data": [{"index": place, "embedding": [float(place)]} for place in places]})

    app = Starlette(routes=[Route("/v1/embeddings", embed, methods=["POST"])])
    settings = EndpointSettings(base_url="http://test/v1", transport=httpx2.ASGITransport(app=app), backoff_seconds=0.001)

    assert run(ModelEmbedder(ModelClient(settings, api=OpenAiEmbeddings())).embed(["a", "b"], model="m")) == [(0.0,), (1.0,)]
    assert len(asked) == 2


@given(st.lists(st.floats(width=32, allow_nan=False), min_size=1, max_size=9))
def test_a_vector_survives_its_packing(vector: list[float]) -> None:
    assert list(unpack_vector(pack_vector(vector))) == vector


Answering = Callable[[dict[str, Any], int], Response]


def serving(answering: Answering, asked: list[dict[str, Any]]) -> httpx2.ASGITransport:
    """An endpoint of embeddings that answers like this, and notes what it was asked."""

    async def embed(request: Request) -> Response:
        asked.append(await request.json())
        return answering(asked[-1], len(asked))

    return httpx2.ASGITransport(app=Starlette(routes=[Route("/v1/embeddings", embed, methods=["POST"])]))


def embedded(answering: Answering, *texts: str) -> tuple[list[Vector], list[dict[str, Any]]]:
    """Embed these texts at a server that answers like this to the request of a number; return what it was asked too."""
    asked: list[dict[str, Any]] = []
    settings = EndpointSettings(base_url="http://test/v1", transport=serving(answering, asked), backoff_seconds=0.001)
    vectors = run(ModelEmbedder(ModelClient(settings, api=OpenAiEmbeddings())).embed(list(texts), model="m"))
    return vectors, asked


@pytest.mark.parametrize(
    "items",
    [
        [{"embedding": [1.0]}, {"embedding": [2.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [2.0]}],
        [{"index": 1, "embedding": [2.0]}, {"index": 0, "embedding": [1.0]}],
        [{"index": 0, "embedding": pack_vector([1.0])}, {"index": 1, "embedding": pack_vector([2.0])}],
        [{"index": 0, "embedding": [[1.0]]}, {"index": 1, "embedding": [[2.0]]}],
    ],
    ids=["no index", "one index", "turned", "base64", "nested"],
)
def test_vectors_are_read_in_every_form_that_servers_give_them(items: list[dict[str, Any]]) -> None:
    usage = {"prompt_tokens": None, "total_tokens": 2}
    vectors, asked = embedded(lambda body, number: JSONResponse({"data": items, "usage": usage}), "a", "b")
    assert (vectors, len(asked)) == ([(1.0,), (2.0,)], 1)


@pytest.mark.parametrize("bad", [[], [[1.0], [2.0]], "no base64", pack_vector([math.nan])])
def test_an_embedding_that_is_no_vector_is_asked_for_again(bad: object) -> None:
    def answering(body: dict[str, Any], number: int) -> Response:
        return JSONResponse({"data": [{"index": 0, "embedding": bad if number == 1 else [1.0]}]})

    vectors, asked = embedded(answering, "a")
    assert (vectors, len(asked)) == ([(1.0,)], 2)


@pytest.mark.parametrize(
    "refusal",
    [
        {"detail": [{"loc": ["body", "encoding_format"], "msg": "Extra inputs are not permitted"}]},
        # https://github.com/HKUDS/DeepTutor/issues/651, where SiliconFlow names no field
        {"code": 20015, "message": "The parameter is invalid. Please check again.", "data": None},
    ],
)
def test_a_server_that_refuses_the_encoding_format_is_asked_without_it(refusal: object) -> None:
    def answering(body: dict[str, Any], number: int) -> Response:
        if "encoding_format" in body:
            return JSONResponse(refusal, 400)
        return JSONResponse({"data": [{"index": 0, "embedding": [1.0]}]})

    assert embedded(answering, "a")[0] == [(1.0,)]


def test_a_server_that_takes_fewer_texts_at_once_gets_fewer_whoever_asks() -> None:
    def answering(body: dict[str, Any], number: int) -> Response:
        if len(body["input"]) > 2:
            return JSONResponse({"error": "batch size 4 > maximum allowed batch size 2"}, 422)
        return JSONResponse({"data": [{"embedding": [1.0]} for _ in body["input"]]})

    async def all_users(client: ModelClient) -> list[list[Vector]]:
        embedder = ModelEmbedder(client)
        return await asyncio.gather(*(embedder.embed([f"{user} {text}" for text in range(4)], model="m") for user in range(5)))

    settings = EndpointSettings(base_url="http://test/v1", transport=serving(answering, []), backoff_seconds=0.001)
    assert run(all_users(ModelClient(settings, api=OpenAiEmbeddings()))) == [[(1.0,)] * 4] * 5


@pytest.mark.parametrize("status", [400, 500])
def test_a_text_that_always_fails_is_named_and_the_others_are_embedded(status: int) -> None:
    asked: list[list[str]] = []

    def answering(body: dict[str, Any], number: int) -> Response:
        asked.append(body["input"])
        if any("cursed" in text for text in body["input"]):
            return JSONResponse({"error": "input cannot be processed"}, status)
        return JSONResponse({"data": [{"embedding": [1.0]} for _ in body["input"]]})

    texts = [f"text {number}" for number in range(7)]
    with pytest.raises(
        RequestFailed, match=r"No embedding of the text that begins 'the cursed one' \(14 characters\): .*cannot be"
    ):
        embedded(answering, *texts[:3], "the cursed one", *texts[3:])
    assert asked[-1] == ["the cursed one"]
    assert len(asked) < 25


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (500, "input (702 tokens) is too large to process. increase the physical batch size (current batch size: 512)"),
        (500, "litellm.InternalServerError: OpenAIException - input (702 tokens) is too large to process."),
        (413, "Input validation error: `inputs` must have less than 512 tokens. Given: 702"),
        (400, "This model's maximum context length is 512 tokens, however you requested 702 tokens."),
        (500, "the input length exceeds the context length"),
        (400, "Range of input length should be [1, 2048]"),
    ],
)
def test_a_text_that_is_too_long_is_split_at_once_and_said_once_and_a_replay_splits_it_too(
    status: int, words: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Case llama-cpp-embedding-512: 208 seconds of waiting, and the write was lost."""
    asked: list[int] = []

    def answering(body: dict[str, Any], number: int) -> Response:
        asked.append(number)
        if any(len(text) > 512 for text in body["input"]):
            return JSONResponse({"error": {"code": status, "message": words, "type": "server_error"}}, status)
        return JSONResponse({"data": [{"embedding": [float("tea" in text), 1.0]} for text in body["input"]]})

    split: list[int] = []
    settings = EndpointSettings(base_url="http://test/v1", transport=serving(answering, []), backoff_seconds=60)
    texts = ["short", "word " * 100 + "a cup of tea " * 40, "note " * 150]

    def embedded_by(mode: CacheMode) -> list[Vector]:
        with closing(open_replies(tmp_path / "calls")) as store:
            model = CachedModel(ModelClient(settings, api=OpenAiEmbeddings()), store=store, mode=mode)
            embedder = ModelEmbedder(model, report_split=lambda: split.append(1))
            return run(asyncio.wait_for(embedder.embed(texts, model="m"), 20))

    short, mixed, plain = embedded_by("use")
    assert (short, plain) == ((0.0, 1.0), pytest.approx((0.0, 1.0)))
    assert 0.4 < mixed[0] < 0.7, "the mean of its parts"
    assert split
    before = len(asked)
    assert before < 16
    assert embedded_by("replay") == [short, mixed, plain]
    assert len(asked) == before
    assert [record.getMessage().count("in parts") for record in caplog.records] == [1]


@pytest.mark.parametrize("usage", [{"prompt_tokens": 8, "total_tokens": 8}, {"total_tokens": 8}])
def test_what_embeddings_took_is_read_from_the_total_where_there_is_no_more(usage: dict[str, int]) -> None:
    body = {"data": [{"index": index, "embedding": [0.5]} for index in range(2)], "usage": usage}
    reply = OpenAiEmbeddings().read_reply(a_request(), json.dumps(body).encode())  # of two messages
    assert isinstance(reply, ModelReply)
    assert reply.input_tokens == 8
