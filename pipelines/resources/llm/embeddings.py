"""Texts to vectors through `/v1/embeddings`, behind the same retries, limits and cache as chat completions.

An embedding travels as a ModelRequest whose messages are the texts, and comes back as a ModelReply whose lines are
vectors of 32-bit floats in base64.
"""

import asyncio
import base64
import struct
from collections.abc import Sequence

import httpx2
import openai
from pydantic import BaseModel, ValidationError

from assets.llm.ports import CallLabels, LanguageModel, ModelReply, ModelRequest, Vector
from pipelines.resources.llm.client import Endpoint
from pipelines.resources.llm.compatibility import Dialect
from pipelines.resources.llm.errors import Diagnosis, Trouble
from pipelines.resources.llm.settings import EndpointSettings
from prompts.template import Message

LARGEST_BATCH = 64


class _Item(BaseModel):
    index: int
    embedding: list[float]


class _Used(BaseModel):
    prompt_tokens: int = 0


class _Embeddings(BaseModel):
    data: list[_Item]
    usage: _Used | None = None


class EmbeddingEndpoint(Endpoint):
    """The embeddings of an OpenAI-compatible endpoint."""

    def __init__(self, settings: EndpointSettings) -> None:
        super().__init__(settings)
        self._words = Diagnosis(settings)

    async def _send(self, request: ModelRequest, *, client: openai.AsyncOpenAI, dialect: Dialect) -> ModelReply | Trouble:
        texts = [message.content for message in request.messages]
        body = {"model": request.model, "input": texts, "encoding_format": "float"}
        try:
            async with asyncio.timeout(self._settings.timeout_seconds):
                answer = await client.post("/embeddings", cast_to=httpx2.Response, body=body)
        except TimeoutError:
            return self._words.of_timeout()
        except openai.APIConnectionError as error:
            return self._words.of_connection(error)
        except openai.APIStatusError as error:
            return self._words.of_status(error, request=request)
        return _read(answer.content, count=len(texts)) or self._words.of_strange_answer()


def _read(body: bytes, *, count: int) -> ModelReply | None:
    try:
        found = _Embeddings.model_validate_json(body)
    except ValidationError:
        return None
    vectors = {item.index: item.embedding for item in found.data}
    if sorted(vectors) != list(range(count)):
        return None
    lines = [packed(vectors[index]) for index in range(count)]
    tokens = found.usage.prompt_tokens if found.usage else 0
    return ModelReply(text="\n".join(lines), finish="stop", input_tokens=tokens, output_tokens=0)


class ModelEmbedder:
    """Embeds through a LanguageModel that carries embeddings, such as a call cache before an EmbeddingEndpoint."""

    def __init__(self, model: LanguageModel, *, stage: str = "evaluation") -> None:
        self._model, self._labels = model, CallLabels(stage=stage, prompt="embeddings")

    async def embed(self, texts: Sequence[str], *, model: str) -> list[Vector]:
        """One vector per text, in order."""
        batches = [texts[start : start + LARGEST_BATCH] for start in range(0, len(texts), LARGEST_BATCH)]
        replies = [await self._model.complete(_request(batch, model=model, labels=self._labels)) for batch in batches]
        return [unpacked(line) for reply in replies for line in reply.text.splitlines()]


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


def packed(vector: Sequence[float]) -> str:
    """The vector as 32-bit floats in base64."""
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


def unpacked(text: str) -> Vector:
    """The vector of such a text."""
    content = base64.b64decode(text)
    return struct.unpack(f"<{len(content) // 4}f", content)
