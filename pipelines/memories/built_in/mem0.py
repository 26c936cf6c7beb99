"""Mem0 by its own library, mem0ai: it decides what is stored and what is found (the paper's Mem0-G and its plain form)."""

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any, Self

from pipelines.memories.built_in.base import BufferedMemory, Count, Positive
from pipelines.memories.built_in.mem0_library import USER, Mem0ModelAdapter, check_library, copy_memory, open_memory
from pipelines.memories.contract import MemoryEvent, best_places, chat_message
from pipelines.memories.tools import MemoryTools


class Mem0Memory(BufferedMemory):
    """Events that leave the short-term memory go to Mem0, which finds `topk` memories for each query.

    Mem0's store is in main memory and has the episode's times. Raises EvaluationError when mem0ai is not installed.
    """

    embeds = True
    packages = ("mem0ai", "qdrant-client", "fastembed", "spacy", "en_core_web_sm")

    linked = False

    def __init__(self, tools: MemoryTools, *, freq: Positive = 2, ns: Count = 4, topk: Positive = 30) -> None:
        check_library(linked=self.linked)
        super().__init__(tools, freq=freq, ns=ns)
        self.topk = topk
        self._models = Mem0ModelAdapter(tools)
        self._memory: Any = None  # made with the first memory, which shows how long vectors are
        self._numbers: dict[str, int] = {}  # Mem0's random id to the place in order of writing

    async def store(self, events: Sequence[MemoryEvent]) -> None:
        at = str(events[-1].at or "")
        self._models.today = at.partition(" ")[0]
        messages = list(map(chat_message, events))
        if self._memory is None:
            # The vector that Mem0 will ask for first, so that it is not paid for twice.
            [vector] = await self._models.embed_texts(["".join(f"{event.kind}: {event.text}\n" for event in events)])
            self._memory = open_memory(self._models, dimensions=len(vector), linked=self.linked)
        work = partial(self._memory.add, messages, user_id=USER, metadata={"created_at": at})
        for memory in (await self._models.run(work))["results"]:
            self._numbers[memory["id"]] = len(self._numbers)

    async def find(self, query: str, *, tokens: int) -> list[str]:
        if self._memory is None or not self._numbers:
            return []
        work = partial(self._memory.search, query, top_k=self.topk, filters={"user_id": USER})
        found: list[dict[str, Any]] = (await self._models.run(work))["results"]
        lines = dict[str, str]()
        for row in found:
            lines[row["id"]] = f"[{row['created_at']}] {' '.join(row['memory'].split())}"
        kept = best_places(lines, lines, tokens)
        # By time, which is the first 21 characters of a line.
        kept.sort(key=lambda key: (lines[key][:21], self._numbers[key]))
        return [lines[key] for key in kept]

    def stored_bytes(self) -> None:
        """The library's store does not say."""

    async def fork(self) -> Self:
        other = copy(self)
        other.recent = list(self.recent)
        other._numbers = dict(self._numbers)
        other._models = Mem0ModelAdapter(self.tools)
        if self._memory is not None:
            other._memory = copy_memory(self._memory, other._models)
        return other


class Mem0GraphMemory(Mem0Memory):
    """Mem0 with its graph: entities are linked to the memories that mention them, and raise those memories in a search."""

    linked = True
