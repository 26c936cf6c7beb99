"""Mem0 by its own library, mem0ai: it decides what is stored and what is found (the paper's Mem0-G and its plain form)."""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any
from uuid import UUID

from assets.records.base import ItemFailed
from pipelines.evaluation.assistant import Settings, Tools
from pipelines.evaluation.assistants.buffered import BufferedAssistant, BufferedMessage
from pipelines.evaluation.assistants.chat import AssistantModel, validate_settings
from pipelines.evaluation.assistants.indexed import IndexSettings
from pipelines.evaluation.assistants.mem0_library import USER, Mem0ModelAdapter, check_library, open_memory
from pipelines.resources.llm.embeddings import pack_vector, unpack_vector

EVERYTHING = 1_000_000


class Mem0Assistant(BufferedAssistant):
    """Messages that leave the short-term memory go to Mem0, which finds `topk` memories for each answer.

    Mem0's store is in main memory and has the episode's times. Raises EvaluationError when mem0ai is not installed.
    """

    linked = False

    def __init__(self, settings: Settings, tools: Tools) -> None:
        own = validate_settings(settings, IndexSettings)
        check_library(linked=self.linked)
        super().__init__(own, AssistantModel(own, tools))
        self._topk = own.topk
        model = own.embedding_model or tools.default_embedding_model
        self._models = Mem0ModelAdapter(self._model, tools.embedder, embedding_model=model)
        self._memory: Any = None  # made with the first memory, which shows how long vectors are
        self._numbers: dict[str, int] = {}  # Mem0's random id to the place in order of writing
        self._found: dict[str, list[str]] = {}  # since the last write

    async def write(self, lines: list[BufferedMessage]) -> None:
        self._found.clear()
        self._models.today = lines[-1].at.partition(" ")[0]
        messages = [{"role": line.role, "content": line.content} for line in lines]
        if self._memory is None:
            [vector] = await self._models.embed_texts(["".join(f"{line.role}: {line.content}\n" for line in lines)])
            self._memory = open_memory(self._models, dimensions=len(vector), linked=self.linked)
        work = partial(self._memory.add, messages, user_id=USER, metadata={"created_at": lines[-1].at})
        try:
            added = await self._models.run(work)
        except ItemFailed:
            # As with AWE: what cannot be put into words twice in a row is not remembered.
            self.failed_writes += 1
            return
        for memory in added["results"]:
            self._numbers[memory["id"]] = len(self._numbers)

    async def memories(self, question: str) -> list[str]:
        if self._memory is None or not self._numbers:
            return []
        if question not in self._found:
            work = partial(self._memory.search, question, top_k=self._topk, filters={"user_id": USER})
            found = (await self._models.run(work))["results"]
            ordered = sorted(found, key=lambda memory: (memory["created_at"], self._numbers[memory["id"]]))
            self._found[question] = [f"[{row['created_at']}] {' '.join(row['memory'].split())}" for row in ordered]
        return self._found[question]

    def dump_memory(self) -> Any:
        """Memories in order of writing, entities with the places of their memories, and the last messages."""
        if self._memory is None:
            return None
        memories = sorted(_rows(self._memory.vector_store), key=lambda row: self._numbers[row.id])
        return {
            "dimensions": self._memory.vector_store.embedding_model_dims,
            "last": self._memory.db.messages,
            "memories": [self._with_vector(row.payload) for row in memories],
            "entities": sorted((self._entity(row.payload) for row in _rows(self._memory.entity_store)), key=json.dumps),
        }

    def load_memory(self, content: Any) -> None:
        self._found.clear()
        if content is None:
            return
        self._memory = open_memory(self._models, dimensions=content["dimensions"], linked=self.linked)
        self._memory.db.messages = content["last"]
        self._numbers = {_id(index): index for index in range(len(content["memories"]))}
        self._insert(self._memory.vector_store, content["memories"])
        linked = [{**row, "linked_memory_ids": list(map(_id, row["linked"]))} for row in content["entities"]]
        self._insert(self._memory.entity_store, linked)

    def _insert(self, store: Any, rows: list[dict[str, Any]]) -> None:
        if not rows:
            return
        vectors = [unpack_vector(row["vector"]) for row in rows]
        payloads = [{key: value for key, value in row.items() if key not in ("vector", "linked")} for row in rows]
        self._models.vectors.update((row["data"], vector) for row, vector in zip(rows, vectors, strict=True))
        store.insert(
            vectors=[list(vector) for vector in vectors], ids=[_id(index) for index in range(len(rows))], payloads=payloads
        )

    def _with_vector(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        # The vector as the embedder gave it: Mem0's store keeps another, of length 1.
        return {**payload, "vector": pack_vector(self._models.vectors[payload["data"]])}

    def _entity(self, payload: Mapping[str, Any]) -> dict[str, Any]:
        linked = sorted(self._numbers[id_] for id_ in payload["linked_memory_ids"])
        row = {key: value for key, value in payload.items() if key != "linked_memory_ids"}
        return {"linked": linked, **self._with_vector(row)}


class Mem0GraphAssistant(Mem0Assistant):
    """Mem0 with its graph: entities are linked to the memories that mention them, and raise those memories in a search."""

    linked = True


def _rows(store: Any) -> list[Any]:
    pages = store.list(filters=None, top_k=EVERYTHING)
    return pages[0] if pages else []


def _id(index: int) -> str:
    return str(UUID(int=index))
