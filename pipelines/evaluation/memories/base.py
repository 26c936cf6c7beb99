"""What the memories here share: copies of plain Python data, a short-term memory, and texts found by likeness."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import Annotated, Self

import numpy as np
from pydantic import Field

from assets.llm.ports import Vector
from assets.llm.text import count_tokens
from pipelines.evaluation.contract import MemoryEvent, MemoryTools, best_within, newest_within

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


class CopiedMemory:
    """A memory whose state is plain Python data: a fork is a deep copy that shares the tools."""

    def __init__(self, tools: MemoryTools) -> None:
        self.tools = tools

    async def fork(self) -> Self:
        return copy.deepcopy(self, {id(self.tools): self.tools})


class BufferedMemory(CopiedMemory, ABC):
    """Stores `freq` events as soon as `ns` others are newer (section 4.1); the newest are recalled word for word."""

    def __init__(self, tools: MemoryTools, *, freq: int, ns: int) -> None:
        super().__init__(tools)
        self.freq, self.ns = freq, ns
        self.recent: list[MemoryEvent] = []

    @abstractmethod
    async def store(self, events: Sequence[MemoryEvent]) -> None:
        """Take events into the long-term memory. Raises ItemFailed where a model cannot; they are lost then."""

    @abstractmethod
    async def find(self, query: str, *, tokens: int) -> list[str]:
        """What the long-term memory holds that bears on the query, the oldest first, within so many tokens."""

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        self.recent += events
        while len(self.recent) >= self.freq + self.ns:
            due, self.recent = self.recent[: self.freq], self.recent[self.freq :]
            await self.store(due)

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        recent = newest_within([event.line for event in self.recent], tokens)
        return [*await self.find(query, tokens=tokens - sum(map(count_tokens, recent))), *recent]


class TextIndex:
    """Texts by number with their vectors, searched exactly. Numbers count up and are never given twice."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        self._vectors: dict[int, np.ndarray] = {}
        self._next = 0

    def add(self, text: str, vector: Vector) -> int:
        """The number that the text gets."""
        number, self._next = self._next, self._next + 1
        self.put(number, text, vector)
        return number

    def put(self, number: int, text: str, vector: Vector) -> None:
        """Replace what stands under the number."""
        found = np.asarray(vector, np.float32)
        self.texts[number], self._vectors[number] = text, found / (float(np.linalg.norm(found)) or 1.0)

    def drop(self, number: int) -> None:
        """Forget a text, if there is one of this number."""
        self.texts.pop(number, None)
        self._vectors.pop(number, None)

    def nearest(self, vector: Vector, *, limit: int) -> list[int]:
        """The numbers of the texts most alike by cosine, the best first; among equals the older first."""
        if not self.texts or not limit:
            return []
        numbers = sorted(self.texts)
        wanted = np.asarray(vector, np.float32)
        likeness = np.stack([self._vectors[number] for number in numbers]) @ (wanted / (float(np.linalg.norm(wanted)) or 1.0))
        # The last bits of a sum differ between machines.
        order = np.argsort(-likeness.round(5), kind="stable")
        return [numbers[place] for place in order[:limit]]

    def lines_within(self, numbers: Iterable[int], tokens: int) -> list[str]:
        """The texts of these numbers, the best first, as long as they fit; then in order of their numbers."""
        fitting = list(numbers)[: len(best_within((self.texts[number] for number in numbers), tokens))]
        return [self.texts[number] for number in sorted(fitting)]
