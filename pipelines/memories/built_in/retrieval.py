"""Memories that are searched: BM25 by words; RAG and AWE by the likeness of embeddings (section 4.1)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel

from assets.records.base import Text
from assets.text.bm25 import rank_texts, searched_words
from pipelines.memories.built_in.base import BufferedMemory, CopiedMemory, Count, Positive, TextIndex, without_forgotten
from pipelines.memories.contract import MemoryEvent, best_places, event_lines, lines_of
from pipelines.memories.tools import MemoryTools
from prompts.catalogue import load_prompt

RELATED = 5  # stored memories that are shown with each new fact


class Bm25Memory(CopiedMemory):
    """Okapi BM25: the `topk` events that share words with the query, rare words before common ones, in order of time."""

    def __init__(self, tools: MemoryTools, *, topk: Positive = 30) -> None:
        super().__init__(tools)
        self.topk = topk
        self.lines: list[str] = []
        self.counts: list[Counter[str]] = []

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        self.lines += lines_of(events)
        self.counts += [Counter(searched_words(event.text)) for event in events]

    async def forget(self, request: MemoryEvent) -> None:
        """Leave out of the lines that bear on the request what is to be forgotten, and keep the request."""
        found = {place: self.lines[place] for place in self._rank_lines(request.text)}
        for place, line in (await without_forgotten(self.tools, request, found)).items():
            self.lines[place] = line
            self.counts[place] = Counter(searched_words(line))
        await self.write([request])

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        ranked = self._rank_lines(query)
        fitting = best_places({place: self.lines[place] for place in ranked}, ranked, tokens)
        return [self.lines[place] for place in sorted(fitting)]

    def _rank_lines(self, query: str) -> list[int]:
        """Return the places of the lines that share words with the query, the best first."""
        return list(rank_texts(self.counts, query))[: self.topk]


class RagMemory(BufferedMemory):
    """RAG-(freq, ns, topk): every event is stored word for word."""

    embeds = True

    def __init__(self, tools: MemoryTools, *, freq: Positive = 2, ns: Count = 4, topk: Positive = 30) -> None:
        super().__init__(tools, freq=freq, ns=ns)
        self.topk = topk
        self.index = TextIndex()

    async def store(self, events: Sequence[MemoryEvent]) -> None:
        vectors = await self.tools.embed([f"{event.kind}: {event.text}" for event in events])
        for event, vector in zip(events, vectors, strict=True):
            self.index.add(event.line, vector)

    async def forget(self, request: MemoryEvent) -> None:
        """Leave what is to be forgotten out of the texts nearest to the request and the newest events; keep the request."""
        [vector] = await self.tools.embed([request.text])
        stored = {number: self.index.texts[number] for number in self.index.nearest(vector, limit=self.topk)}
        newest = {-1 - place: event.text for place, event in enumerate(self.recent)}
        left = await without_forgotten(self.tools, request, stored | newest)
        await self.index.replace({number: text for number, text in left.items() if number in stored}, self.tools)
        self.recent = [replace(event, text=left.get(-1 - place, event.text)) for place, event in enumerate(self.recent)]
        await self.write([request])

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
        near = set[int]()
        for vector in vectors:
            near |= {*self.index.nearest(vector, limit=RELATED)}
        changes = [Change(text=fact, event="ADD") for fact in facts]
        if near:
            known = [{"id": str(number), "text": self.index.texts[number]} for number in sorted(near)]
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
