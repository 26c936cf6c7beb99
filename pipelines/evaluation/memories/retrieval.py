"""Memories that are searched: BM25 by words; RAG and AWE by the likeness of embeddings (section 4.1)."""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel

from assets.records.base import Text
from pipelines.evaluation.contract import MemoryEvent, MemoryTools, best_within, event_lines
from pipelines.evaluation.memories.base import BufferedMemory, CopiedMemory, Count, Positive, TextIndex
from prompts.catalogue import load_prompt

WORD = re.compile(r"\w+")
SATURATION, LENGTH_SHARE = 1.5, 0.75  # the usual k1 and b
RELATED = 5  # stored memories that are shown with each new fact


class Bm25Memory(CopiedMemory):
    """Okapi BM25: the `topk` events that share words with the query, rare words before common ones, in order of time."""

    def __init__(self, tools: MemoryTools, *, topk: Positive = 30) -> None:
        super().__init__(tools)
        self.topk = topk
        self.lines: list[str] = []
        self.counts: list[Counter[str]] = []

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        self.lines += [event.line for event in events]
        self.counts += [Counter(WORD.findall(event.text.casefold())) for event in events]

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        wanted = sorted(set(WORD.findall(query.casefold())))
        having = {word: sum(word in counts for counts in self.counts) for word in wanted}
        total = len(self.counts)
        rarity = {word: math.log(1 + (total - found + 0.5) / (found + 0.5)) for word, found in having.items() if found}
        mean = sum(counts.total() for counts in self.counts) / max(1, total) or 1.0
        scores = {place: _score(counts, rarity, length=counts.total() / mean) for place, counts in enumerate(self.counts)}
        ranked = sorted((place for place in scores if scores[place] > 0), key=lambda place: (-scores[place], place))[
            : self.topk
        ]
        fitting = ranked[: len(best_within((self.lines[place] for place in ranked), tokens))]
        return [self.lines[place] for place in sorted(fitting)]


def _score(counts: Counter[str], rarity: dict[str, float], *, length: float) -> float:
    damping = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * length)
    found = ((weight, counts[word]) for word, weight in rarity.items() if word in counts)
    return round(sum(weight * times * (SATURATION + 1) / (times + damping) for weight, times in found), 9)


class RagMemory(BufferedMemory):
    """RAG-(freq, ns, topk): every event is stored word for word."""

    def __init__(self, tools: MemoryTools, *, freq: Positive = 2, ns: Count = 4, topk: Positive = 30) -> None:
        super().__init__(tools, freq=freq, ns=ns)
        self.topk, self.index = topk, TextIndex()

    async def store(self, events: Sequence[MemoryEvent]) -> None:
        vectors = await self.tools.embed([f"{event.kind}: {event.text}" for event in events])
        for event, vector in zip(events, vectors, strict=True):
            self.index.add(event.line, vector)

    async def find(self, query: str, *, tokens: int) -> list[str]:
        if not self.index.texts:
            return []
        [vector] = await self.tools.embed([query])
        return self.index.lines_within(self.index.nearest(vector, limit=self.topk), tokens)


class FactsReply(BaseModel):
    """What was perceived, as single facts."""

    facts: list[Text]


# The class name stands in the reply schema, and so in the key of every cached reply.
class Change(BaseModel):
    """What becomes of the memory; an id that does not exist is taken for a new memory."""

    id: str = ""
    text: str = ""
    event: Literal["ADD", "UPDATE", "DELETE", "NONE"]


class ChangesReply(BaseModel):
    """The changes to the memory, in the order of the facts."""

    memory: list[Change]


class AweMemory(RagMemory):
    """AWE-(freq, ns, topk): a model decides which facts are stored, and what becomes of those stored before."""

    async def store(self, events: Sequence[MemoryEvent]) -> None:
        prompt = load_prompt("memories/extract_facts").render(conversation=event_lines(events))
        facts = await self.tools.ask(prompt, FactsReply, lambda reply: list(dict.fromkeys(reply.facts)))
        if not facts:
            return
        vectors = await self.tools.embed(facts)
        near = dict.fromkeys(number for vector in vectors for number in self.index.nearest(vector, limit=RELATED))
        known = [{"id": str(number), "text": self.index.texts[number]} for number in sorted(near)]
        changes = [Change(text=fact, event="ADD") for fact in facts]
        if near:
            prompt = load_prompt("memories/reconcile_memories").render(memories=known, facts=facts)
            changes = await self.tools.ask(prompt, ChangesReply, lambda reply: reply.memory)
        await self._apply(changes, near={str(number): number for number in near}, at=events[-1].time)

    async def _apply(self, changes: Sequence[Change], *, near: Mapping[str, int], at: str) -> None:
        written = [change for change in changes if change.event in ("ADD", "UPDATE") and change.text.strip()]
        vectors = await self.tools.embed([change.text for change in written]) if written else []
        for change in changes:
            if change.event == "DELETE" and change.id in near:
                self.index.drop(near[change.id])
        for change, vector in zip(written, vectors, strict=True):
            line = f"{at}{' '.join(change.text.split())}"
            if change.event == "UPDATE" and change.id in near:
                self.index.put(near[change.id], line, vector)
            else:
                self.index.add(line, vector)
