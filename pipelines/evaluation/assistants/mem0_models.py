"""What Mem0 asks of models, answered by the run's own: with its call cache, its retries, its limits and its counts."""

import asyncio
import hashlib
import re
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from functools import cache, partial
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field

from assets.llm.ports import Embedder, EndpointError, Vector
from assets.llm.structured_output import Ask, ask
from assets.records.base import Text
from assets.records.failure import UserFailed
from pipelines.evaluation.assistants.chat import Voice, message_of
from prompts.template import RenderedPrompt

T = TypeVar("T")
# Mem0's open edition tells the model the machine's date, and takes no other.
DATES = re.compile(r"(?<=## Observation Date\n)\S+|(?<=## Current Date\n)\S+")
THREADS = 64
# What went wrong in one piece of Mem0's work; a context is handed to its thread.
TROUBLES: ContextVar[list[EndpointError | UserFailed]] = ContextVar("TROUBLES")


class Extracted(BaseModel):
    """A memory that Mem0's prompt asks for."""

    id: str = ""
    text: Text
    attributed_to: Literal["user", "assistant"] = "user"
    linked_memory_ids: list[str] = Field(default_factory=list[str])


class ExtractedReply(BaseModel):
    """The reply that Mem0's prompt asks for."""

    memory: list[Extracted]


class Mem0Models:
    """Mem0's language model and embedder in one. Mem0 calls it from threads, the calls are made on the loop of `run`.

    `vectors`: what was embedded to be kept, by text. `today`: the episode's date, ISO.
    """

    def __init__(self, voice: Voice, embedder: Embedder, *, embedding_model: str) -> None:
        self._voice, self._embedder, self._embedding_model = voice, embedder, embedding_model
        self._loop: asyncio.AbstractEventLoop | None = None
        self.vectors: dict[str, Vector] = {}
        self.today = ""

    async def run(self, work: Callable[[], T]) -> T:
        """The result of Mem0's work. Raises what its calls raised, which Mem0 itself wraps or passes over."""
        self._loop, troubles = asyncio.get_running_loop(), list[EndpointError | UserFailed]()
        context = copy_context()
        context.run(TROUBLES.set, troubles)
        try:
            return await self._loop.run_in_executor(_threads(), partial(context.run, work))
        finally:
            if troubles:
                raise troubles[0]

    async def embedded(self, texts: Sequence[str]) -> list[Vector]:
        """The texts' vectors; line breaks count as blanks, as in Mem0."""
        return await self._embedder.embed([text.replace("\n", " ") for text in texts], model=self._embedding_model)

    def generate_response(self, messages: Sequence[Mapping[str, str]], **_: object) -> str:
        """Called by Mem0: the reply to its prompt, as JSON."""
        told = [message_of(message["role"], DATES.sub(self.today, message["content"])) for message in messages]
        fingerprint = hashlib.sha256(told[0].content.encode()).hexdigest()[:12]
        prompt = RenderedPrompt("mem0/extract", "writer", "steady", fingerprint, tuple(told))
        asked = Ask(prompt, ExtractedReply, lambda reply: reply.model_dump_json())
        return self._wait(ask(self._voice.model, asked, recipe=self._voice.recipe))

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Called by Mem0: one vector."""
        return self.embed_batch([text], memory_action or "search")[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """Called by Mem0: the vectors of several texts."""
        found = self._wait(self.embedded(texts))
        if memory_action == "add":
            self.vectors.update(zip(texts, found, strict=True))
        return [list(vector) for vector in found]

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None or self._loop.is_closed():
            work.close()
            raise RuntimeError("Mem0 asks a model outside of a run.")
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except (EndpointError, UserFailed) as trouble:
            TROUBLES.get().append(trouble)
            raise


@cache
def _threads() -> ThreadPoolExecutor:
    """Threads of their own: they mostly wait for models, and the loop's few would hold everything else up."""
    return ThreadPoolExecutor(THREADS, thread_name_prefix="mem0")
