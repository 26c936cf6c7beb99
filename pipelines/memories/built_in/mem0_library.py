"""The library mem0ai, opened so that it sends no telemetry, writes no file and asks no model of its own."""

import asyncio
import hashlib
import importlib
import importlib.util
import logging
import os
import re
import tempfile
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from copy import copy, deepcopy
from functools import cache, partial
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel, Field

from assets.llm.ports import EndpointError, Vector
from assets.records.base import ItemFailed, Text
from pipelines.errors import EvaluationError
from pipelines.memories.tools import MemoryTools
from prompts.template import Message, RenderedPrompt

USER = "user"
LAST_MESSAGES = 10  # which Mem0 shows beside new ones
NOT_INSTALLED = "The memory mem0 needs the package mem0ai; install it with: .venv/bin/pip install -e '.[mem0]'"
NO_SPACY = (
    "Mem0 2 links entities to memories by spaCy, which is not installed; install it with: "
    ".venv/bin/pip install 'mem0ai[nlp]' and .venv/bin/python -m spacy download en_core_web_sm"
)
NO_MODEL = (
    "spaCy is installed without its model, which Mem0 would download in the middle of the run; get it with: "
    ".venv/bin/python -m spacy download en_core_web_sm"
)
T = TypeVar("T")
# Mem0's open edition puts the machine's date into its prompts, and takes no other.
DATES = re.compile(r"(?<=## Observation Date\n)\S+|(?<=## Current Date\n)\S+")
THREADS = 64
# What went wrong in one piece of Mem0's work; a context is handed to its thread.
CALL_ERRORS: ContextVar[list[EndpointError | ItemFailed]] = ContextVar("TROUBLES")


def check_library(*, linked: bool) -> None:
    """Import Mem0. Raises EvaluationError when it, or what it needs for links between entities, is not there."""
    _library()
    spacy = importlib.util.find_spec("spacy") is not None
    if linked and not spacy:
        raise EvaluationError(NO_SPACY)
    if spacy and importlib.util.find_spec("en_core_web_sm") is None:
        raise EvaluationError(NO_MODEL)


def open_memory(models: Any, *, dimensions: int, linked: bool) -> Any:
    """An empty `mem0.Memory` in main memory. `models` replaces its language model and its embedder.

    `linked`: whether entities are linked to memories.
    """
    memory = copy(_template())
    memory.llm = memory.embedding_model = models
    memory.db = LastMessages()
    memory.vector_store = _store("memories", dimensions)
    memory._entity_store = _store("entities", dimensions) if linked else DisabledEntityStore()
    return memory


def copy_memory(memory: Any, models: Any) -> Any:
    """The same memories and links in a store of its own."""
    other = copy(memory)
    other.llm = other.embedding_model = models
    other.db, other.vector_store, other._entity_store = deepcopy((memory.db, memory.vector_store, memory.entity_store))
    return other


class LastMessages:
    """Mem0's message history. Its own is ordered by the machine's clock; this one by what came first."""

    def __init__(self) -> None:
        self.messages: list[dict[str, str]] = []

    def get_last_messages(self, session_scope: str, limit: int = LAST_MESSAGES) -> list[dict[str, str]]:
        """The newest messages, the oldest of them first."""
        return self.messages[-limit:]

    def save_messages(self, messages: Sequence[Mapping[str, str]], session_scope: str) -> None:
        """Store these, and drop those that are never shown again."""
        self.messages = [*self.messages, *map(dict, messages)][-LAST_MESSAGES:]

    def batch_add_history(self, records: Sequence[Mapping[str, Any]]) -> None:
        """Store nothing: nobody asks how memories changed."""


class DisabledEntityStore:
    """In place of Mem0's store of entities: links nothing."""

    def search_batch(self, *, queries: Sequence[str], vectors_list: object, top_k: int, filters: object) -> list[Any]:
        return [[] for _ in queries]

    def search(self, *, query: str, vectors: object, top_k: int, filters: object) -> list[Any]:
        return []

    def insert(self, *, vectors: object, ids: object, payloads: object) -> None:
        """Store nothing: links between entities and memories are switched off."""

    # The last, because it hides the type from whatever follows.
    def list(self, *, filters: object, top_k: int) -> list[Any]:
        return []


@cache
def _library() -> Any:
    # It reads these when it is imported, and writes an identity for its telemetry into the folder.
    os.environ["MEM0_TELEMETRY"] = "False"
    for optional in ("mem0.utils.spacy_models", "mem0.vector_stores.qdrant"):
        logging.getLogger(optional).setLevel(logging.ERROR)  # else it warns again and again of parts that are not installed
    with tempfile.TemporaryDirectory(prefix="mem0-") as folder:
        os.environ["MEM0_DIR"] = folder
        try:
            return importlib.import_module("mem0")
        except ModuleNotFoundError as error:
            raise EvaluationError(NOT_INSTALLED) from error


@cache
def _template() -> Any:
    """Making a Memory takes a tenth of a second, nearly all of it for HTTP clients that are never used; so it is made once."""
    client = {"provider": "openai", "config": {"model": "unused", "api_key": "unused"}}
    store = {"provider": "qdrant", "config": {"path": ":memory:", "embedding_model_dims": 1}}
    settings = {"llm": client, "embedder": client, "vector_store": store, "history_db_path": ":memory:"}
    return _library().Memory.from_config(settings)


def _store(name: str, dimensions: int) -> Any:
    stores = importlib.import_module("mem0.utils.factory").VectorStoreFactory
    return stores.create("qdrant", {"collection_name": name, "embedding_model_dims": dimensions, "path": ":memory:"})


class Extracted(BaseModel):
    """A memory that Mem0's prompt asks for."""

    id: str = ""
    text: Text
    attributed_to: Literal["user", "assistant"] = "user"
    linked_memory_ids: list[str] = Field(default_factory=list[str])


class ExtractedReply(BaseModel):
    """The reply that Mem0's prompt asks for."""

    memory: list[Extracted]


class Mem0ModelAdapter:
    """Mem0's language model and embedder in one. Mem0 calls it from threads, the calls are made on the loop of `run`.

    `today`: the episode's date, ISO.
    """

    def __init__(self, tools: MemoryTools) -> None:
        self._tools = tools
        self._loop: asyncio.AbstractEventLoop | None = None
        self.today = ""

    async def run(self, work: Callable[[], T]) -> T:
        """The result of Mem0's work. Raises what its calls raised, which Mem0 itself wraps or passes over."""
        self._loop = asyncio.get_running_loop()
        troubles = list[EndpointError | ItemFailed]()
        context = copy_context()
        context.run(CALL_ERRORS.set, troubles)
        try:
            return await self._loop.run_in_executor(_threads(), partial(context.run, work))
        finally:
            if troubles:
                raise troubles[0]

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        """The texts' vectors; line breaks count as blanks, as in Mem0."""
        return await self._tools.embed([text.replace("\n", " ") for text in texts])

    def generate_response(self, messages: Sequence[Mapping[str, str]], **_: object) -> str:
        """The reply to a prompt of Mem0, as JSON."""
        restored = [Message(cast(Any, each["role"]), DATES.sub(self.today, each["content"])) for each in messages]
        fingerprint = hashlib.sha256(restored[0].content.encode()).hexdigest()[:12]
        prompt = RenderedPrompt("mem0/extract", "writer", "steady", fingerprint, tuple(restored))
        return self._wait(self._tools.ask(prompt, ExtractedReply, lambda reply: reply.model_dump_json()))

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """The vector of one text, for Mem0."""
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str = "add") -> list[list[float]]:
        """The vectors of several texts, for Mem0."""
        return [list(vector) for vector in self._wait(self.embed_texts(texts))]

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop is None or self._loop.is_closed():
            work.close()
            raise RuntimeError("Mem0 asks a model outside of a run.")
        try:
            return asyncio.run_coroutine_threadsafe(work, self._loop).result()
        except (EndpointError, ItemFailed) as trouble:
            CALL_ERRORS.get().append(trouble)
            raise


@cache
def _threads() -> ThreadPoolExecutor:
    """Threads of their own: Mem0's calls mostly wait for models, and would block the few threads of the loop."""
    return ThreadPoolExecutor(THREADS, thread_name_prefix="mem0")
