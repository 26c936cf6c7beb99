"""Shared parts of the memories: copies of plain Python data, a short-term memory, and texts found by likeness."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import chain
from typing import Annotated, ClassVar, Self, cast

import numpy as np
from pydantic import BaseModel, Field

from assets.llm.ports import Vector
from assets.text.words import count_tokens
from pipelines.memories.contract import MemoryEvent, best_places, lines_of, newest_within
from pipelines.memories.tools import MemoryTools
from prompts.catalogue import load_prompt

Count = Annotated[int, Field(ge=0)]
Positive = Annotated[int, Field(ge=1)]


class CopiedMemory:
    """A memory whose state is plain Python data: a fork is a deep copy that shares the tools.

    `embeds`: whether it asks for embeddings. `packages`: those that decide what it does, beside our code.
    """

    embeds: ClassVar[bool] = False
    packages: ClassVar[tuple[str, ...]] = ()

    def __init__(self, tools: MemoryTools) -> None:
        self.tools = tools

    async def fork(self) -> Self:
        return copy.deepcopy(self)  # which shares the tools

    def stored_bytes(self) -> int | None:
        """Return the bytes of all that is remembered: texts in UTF-8, vectors, and eight for a number or a time."""
        total = 0
        for value in vars(self).values():
            # Whole numbers that are not in a collection are settings.
            if not isinstance(value, MemoryTools | int):
                total += _bytes_of(value)
        return total


def _bytes_of(value: object) -> int:
    if value is None:
        return 0
    if isinstance(value, str):
        return len(value.encode(errors="replace"))
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, int | float | datetime):
        return 8
    parts: Iterable[object] = vars(value).values() if hasattr(value, "__dict__") else ()
    if isinstance(value, Mapping):
        mapping = cast(Mapping[object, object], value)
        parts = chain(mapping, mapping.values())
    elif isinstance(value, list | tuple | set):
        parts = cast(Iterable[object], value)
    return sum(map(_bytes_of, parts))


class BufferedMemory(CopiedMemory, ABC):
    """Stores `freq` events as soon as `ns` others are newer (section 4.1); the newest are recalled word for word."""

    def __init__(self, tools: MemoryTools, *, freq: int, ns: int) -> None:
        super().__init__(tools)
        self.freq = freq
        self.ns = ns
        self.recent: list[MemoryEvent] = []

    @abstractmethod
    async def store(self, events: Sequence[MemoryEvent]) -> None:
        """Take events into the long-term memory. Raises ItemFailed where a model cannot; they are lost then."""

    @abstractmethod
    async def find(self, query: str, *, tokens: int) -> list[str]:
        """Return what the long-term memory holds that bears on the query, the oldest first, within so many tokens."""

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        self.recent += events
        while len(self.recent) >= self.freq + self.ns:
            due = self.recent[: self.freq]
            del self.recent[: self.freq]
            await self.store(due)

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        recent = newest_within(lines_of(self.recent), tokens)
        return [*await self.find(query, tokens=tokens - sum(map(count_tokens, recent))), *recent]


class ForgottenText(BaseModel):
    """A text that tells what is to be forgotten, as it is without it; "" where it tells nothing else."""

    id: str
    text: str = ""


class ForgottenReply(BaseModel):
    """The texts that tell what is to be forgotten."""

    texts: list[ForgottenText]


async def without_forgotten(tools: MemoryTools, request: MemoryEvent, texts: Mapping[int, str]) -> dict[int, str]:
    """Return those of the texts that tell what is to be forgotten, by number, as they are without it; "" to be dropped.

    Raises ItemFailed where the model cannot say.
    """
    if not texts:
        return {}
    shown = {str(number): text for number, text in texts.items()}
    prompt = load_prompt("memories/leave_out_forgotten").render(request=request.text, texts=shown)
    reply = await tools.ask(prompt, ForgottenReply, lambda reply: reply)
    return {int(text.id): text.text for text in reply.texts if text.id in shown}


class TextIndex:
    """Texts by number with their vectors, searched exactly. Numbers count up and are never given twice."""

    def __init__(self) -> None:
        self.texts: dict[int, str] = {}
        self._vectors: dict[int, np.ndarray] = {}
        self._next = 0

    def add(self, text: str, vector: Vector) -> int:
        """Store a text, and return its number."""
        number = self._next
        self._next += 1
        self.put(number, text, vector)
        return number

    def put(self, number: int, text: str, vector: Vector) -> None:
        """Replace the entry of this number."""
        self.texts[number] = text
        self._vectors[number] = _of_length_one(vector)

    async def replace(self, texts: Mapping[int, str], tools: MemoryTools) -> None:
        """Give these numbers other texts; one without a text is dropped."""
        kept = {number: text for number, text in texts.items() if text.strip()}
        vectors = await tools.embed(list(kept.values())) if kept else []
        for number in texts:
            self.drop(number)
        for (number, text), vector in zip(kept.items(), vectors, strict=True):
            self.put(number, text, vector)

    def drop(self, number: int) -> None:
        """Forget a text, if there is one of this number."""
        self.texts.pop(number, None)
        self._vectors.pop(number, None)

    def nearest(self, vector: Vector, *, limit: int) -> list[int]:
        """Return the numbers of the texts most alike by cosine, the best first; among equals the older first."""
        if not self.texts or not limit:
            return []
        numbers = sorted(self.texts)
        likeness = np.stack([self._vectors[number] for number in numbers]) @ _of_length_one(vector)
        # The last bits of a sum differ between machines.
        order = np.argsort(-likeness.round(5), kind="stable")
        return [numbers[place] for place in order[:limit]]

    def lines_within(self, numbers: Iterable[int], tokens: int) -> list[str]:
        """Return the texts of these numbers, the best first, as long as they fit; then in order of their numbers."""
        return [self.texts[number] for number in sorted(best_places(self.texts, numbers, tokens))]


def _of_length_one(vector: Vector) -> np.ndarray:
    """Return the vector's direction; that of nothing is nothing."""
    found = np.asarray(vector, np.float32)
    return found / (float(np.linalg.norm(found)) or 1.0)
