"""Mem0 by its own library, mem0ai: it decides what is stored and what is found (the paper's Mem0-G and its plain form)."""

from collections.abc import Sequence
from copy import copy
from functools import partial
from typing import Any, Self

from pipelines.evaluation.contract import MemoryEvent, MemoryTools, best_within
from pipelines.evaluation.memories.base import BufferedMemory, Count, Positive
from pipelines.evaluation.memories.mem0_library import USER, Mem0ModelAdapter, check_library, copy_memory, open_memory


class Mem0Memory(BufferedMemory):
    """Events that leave the short-term memory go to Mem0, which finds `topk` memories for each query.

    Mem0's store is in main memory and has the episode's times. Raises EvaluationError when mem0ai is not installed.
    """

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
        messages = [{"role": "assistant" if event.kind == "assistant" else "user", "content": event.text} for event in events]
        if self._memory is None:
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
        lines = {row["id"]: f"[{row['created_at']}] {' '.join(row['memory'].split())}" for row in found}
        kept = list(lines)[: len(best_within(lines.values(), tokens))]
        ordered = sorted(kept, key=lambda key: (lines[key][:21], self._numbers[key]))
        return [lines[key] for key in ordered]

    async def fork(self) -> Self:
        other = copy(self)
        other.recent, other._numbers, other._models = list(self.recent), dict(self._numbers), Mem0ModelAdapter(self.tools)
        if self._memory is not None:
            other._memory = copy_memory(self._memory, other._models)
        return other


class Mem0GraphMemory(Mem0Memory):
    """Mem0 with its graph: entities are linked to the memories that mention them, and raise those memories in a search."""

    linked = True
