"""Texts to vectors through `/v1/embeddings`, behind the same retries, limits and cache as chat completions.

An embedding travels as a ModelRequest whose messages are the texts, and comes back as a ModelReply whose lines are
vectors of 32-bit floats in base64.
"""

import base64
import binascii
import logging
import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any

from pydantic import AliasChoices, BaseModel, Field, ValidationError

from assets.llm.ports import CallLabels, LanguageModel, ModelReply, ModelRequest, RequestFailed, Vector
from assets.records.limits import MB
from pipelines.resources.llm.chat_completion import IfFields, Tokens, no_reply, read_tokens
from pipelines.resources.llm.compatibility import ApiCompatibility
from pipelines.resources.llm.errors import NoReply
from pipelines.resources.llm.model_api import ApiCall, OpenAiChat
from prompts.template import Message

LARGEST_BATCH = 64
QUOTED = 60  # characters of a text that fails
LOG = logging.getLogger(__name__)


class _IndexedVector(BaseModel):
    index: int | None = None
    embedding: list[float] | list[list[float]] | str


class _EmbeddingsUsage(BaseModel):
    # Some services give the total alone, which is the same.
    prompt_tokens: Tokens = Field(default=None, validation_alias=AliasChoices("prompt_tokens", "total_tokens"))


class _Embeddings(BaseModel):
    data: list[_IndexedVector]
    usage: Annotated[_EmbeddingsUsage | None, IfFields] = None
    model: Any = None


class OpenAiEmbeddings(OpenAiChat):
    """The embeddings of an OpenAI-compatible endpoint: texts in the place of messages, vectors in the place of words."""

    most_bytes = 32 * MB  # a full batch of long vectors as text

    def call(self, request: ModelRequest, *, compatibility: ApiCompatibility) -> ApiCall:
        texts = [message.content for message in request.messages]
        body: dict[str, object] = {"model": request.model, "input": texts}
        if compatibility.encoding_format:
            body["encoding_format"] = "float"
        return ApiCall("/embeddings", {**body, **request.extra_body})

    def read_reply(self, request: ModelRequest, content: bytes) -> ModelReply | NoReply:
        try:
            embeddings = _Embeddings.model_validate_json(content)
        except ValidationError:
            return no_reply(content, listed="data")
        misplaced = self._origins.find_misplaced(request, reply_id=None, model=embeddings.model)
        if misplaced:
            return misplaced
        vectors = _in_order(embeddings.data)
        if vectors is None or len(vectors) != len(request.messages):
            return "unusable"
        counted = (embeddings.usage and embeddings.usage.prompt_tokens) or 0
        text = "\n".join(map(pack_vector, vectors))
        return ModelReply(text, "stop", input_tokens=read_tokens(counted, request=request), output_tokens=0)


def _in_order(items: Sequence[_IndexedVector]) -> list[Vector] | None:
    """Return the vectors in the order of the texts; None where that is not sure, or a vector is none.

    Servers that give no index, or the same one to all, answer in order.
    """
    indexes = [item.index for item in items]
    if len(set(indexes)) > 1:
        if sorted(indexes, key=str) != sorted(range(len(items)), key=str):
            return None
        items = sorted(items, key=lambda item: item.index or 0)
    vectors = list[Vector]()
    for item in items:
        vector = _numbers(item.embedding)
        if not vector or not all(map(math.isfinite, vector)):
            return None
        vectors.append(vector)
    return vectors


def _numbers(embedding: list[float] | list[list[float]] | str) -> Vector:
    """Return an embedding's numbers: a list, one within a list, or 32-bit floats in base64; none of what is none of these."""
    if isinstance(embedding, str):
        try:
            return unpack_vector(embedding)
        except (binascii.Error, struct.error, ValueError):
            return ()
    numbers = list[float]()
    for each in embedding:
        if isinstance(each, list):
            # A list for every token of the text, before they are pooled, is no vector of the text.
            return tuple(each) if len(embedding) == 1 else ()
        numbers.append(each)
    return tuple(numbers)


class ModelEmbedder:
    """Embeds through a LanguageModel that carries embeddings, such as a reply cache before a client of `OpenAiEmbeddings`.

    A text that is too long for the model gets the mean of its halves' vectors, by their lengths; `report_split` is called each
    time that one is halved.
    """

    def __init__(
        self, model: LanguageModel, *, stage: str = "evaluation", report_split: Callable[[], None] = lambda: None
    ) -> None:
        self._model = model
        self._labels = CallLabels(stage=stage, prompt="embeddings")
        self._report_split = report_split

    async def embed(self, texts: Sequence[str], *, model: str) -> list[Vector]:
        """Return one vector per text, in order. Raises RequestFailed, with the text's beginning, for one that always fails."""
        vectors: list[Vector] = []
        for start in range(0, len(texts), LARGEST_BATCH):
            vectors += await self._embed_batch(texts[start : start + LARGEST_BATCH], model=model)
        return vectors

    async def _embed_batch(self, texts: Sequence[str], *, model: str) -> list[Vector]:
        """Embed these together; where that fails, in halves, until the text is found that fails alone, or is too long."""
        labels = replace(self._labels, divisible=len(texts) > 1)
        try:
            reply = await self._model.complete(_request(texts, model=model, labels=labels))
        except RequestFailed as failed:
            if len(texts) == 1:
                raise _failed_text(texts[0], failed) from None
            return await self._embed_halves(texts, model=model)
        if reply.finish != "length":
            return list(map(unpack_vector, reply.text.splitlines()))
        if len(texts) > 1:
            return await self._embed_halves(texts, model=model)
        self._report_split()
        [text] = texts
        middle = text.rfind(" ", len(text) // 4, len(text) // 2) + 1 or len(text) // 2
        return [_mean_of(await self._embed_batch([text[:middle], text[middle:]], model=model), share=middle / len(text))]

    async def _embed_halves(self, texts: Sequence[str], *, model: str) -> list[Vector]:
        half = len(texts) // 2
        first = await self._embed_batch(texts[:half], model=model)
        return first + await self._embed_batch(texts[half:], model=model)


def _mean_of(vectors: Sequence[Vector], *, share: float) -> Vector:
    """Return the mean of two vectors, of which the first counts by this share."""
    first, second = vectors
    return tuple(share * value + (1 - share) * other for value, other in zip(first, second, strict=True))


def _failed_text(text: str, failed: RequestFailed) -> RequestFailed:
    beginning = " ".join(text.split())[:QUOTED]
    sentence = f"No embedding of the text that begins {beginning!r} ({len(text):,} characters): {failed}"
    LOG.warning(sentence)
    return RequestFailed(sentence)


def _request(texts: Sequence[str], *, model: str, labels: CallLabels) -> ModelRequest:
    return ModelRequest(
        model=model,
        # An empty text has no embedding; providers refuse it.
        messages=tuple(Message("user", text or " ") for text in texts),
        temperature=None,
        max_output_tokens=0,
        schema_name="embeddings",
        json_schema=None,
        seed=0,
        sample=0,
        labels=labels,
    )


def pack_vector(vector: Sequence[float]) -> str:
    """Return the vector as 32-bit floats in base64."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def unpack_vector(text: str) -> Vector:
    """Return the vector of such a text."""
    content = base64.b64decode(text)
    return struct.unpack(f"<{len(content) // 4}f", content)
