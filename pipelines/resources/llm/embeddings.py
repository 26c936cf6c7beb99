"""Texts to vectors through `/v1/embeddings`, behind the same retries, limits and cache as chat completions.

An embedding travels as a ModelRequest whose messages are the texts, and comes back as a ModelReply whose lines are
vectors of 32-bit floats in base64.
"""

import base64
import struct
from collections.abc import Sequence
from functools import partial

import openai
from pydantic import BaseModel, ValidationError

from assets.llm.ports import CallLabels, LanguageModel, ModelReply, ModelRequest, Vector
from pipelines.resources.llm.client import ModelClient
from pipelines.resources.llm.compatibility import ApiCompatibility
from pipelines.resources.llm.retry import CallFailure
from prompts.template import Message

LARGEST_BATCH = 64


class _IndexedVector(BaseModel):
    index: int
    embedding: list[float]


class _EmbeddingsUsage(BaseModel):
    prompt_tokens: int = 0


class _Embeddings(BaseModel):
    data: list[_IndexedVector]
    usage: _EmbeddingsUsage | None = None


class EmbeddingClient(ModelClient):
    """The embeddings of an OpenAI-compatible endpoint."""

    async def _send(
        self, request: ModelRequest, *, client: openai.AsyncOpenAI, compatibility: ApiCompatibility
    ) -> ModelReply | CallFailure:
        texts = [message.content for message in request.messages]
        body: dict[str, object] = {"model": request.model, "input": texts, "encoding_format": "float"}
        read = partial(_read, count=len(texts))
        return await self._post("/embeddings", body, request=request, client=client, read=read)


def _read(body: bytes, *, count: int) -> ModelReply | None:
    try:
        embeddings = _Embeddings.model_validate_json(body)
    except ValidationError:
        return None
    vectors = {item.index: item.embedding for item in embeddings.data}
    if sorted(vectors) != list(range(count)):
        return None
    lines = [pack_vector(vectors[index]) for index in range(count)]
    tokens = embeddings.usage.prompt_tokens if embeddings.usage else 0
    return ModelReply(text="\n".join(lines), finish="stop", input_tokens=tokens, output_tokens=0)


class ModelEmbedder:
    """Embeds through a LanguageModel that carries embeddings, such as a reply cache before an EmbeddingClient."""

    def __init__(self, model: LanguageModel, *, stage: str = "evaluation") -> None:
        self._model, self._labels = model, CallLabels(stage=stage, prompt="embeddings")

    async def embed(self, texts: Sequence[str], *, model: str) -> list[Vector]:
        """One vector per text, in order."""
        batches = [texts[start : start + LARGEST_BATCH] for start in range(0, len(texts), LARGEST_BATCH)]
        replies = [await self._model.complete(_request(batch, model=model, labels=self._labels)) for batch in batches]
        return [unpack_vector(line) for reply in replies for line in reply.text.splitlines()]


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
    """The vector as 32-bit floats in base64."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def unpack_vector(text: str) -> Vector:
    """The vector of such a text."""
    content = base64.b64decode(text)
    return struct.unpack(f"<{len(content) // 4}f", content)
