"""RAG and AWE: an external memory of texts, found by the likeness of their embeddings (section 4.1)."""

from collections.abc import Mapping, Sequence
from typing import Literal

from pydantic import BaseModel

from assets.records.base import Text
from pipelines.evaluation.contract import MemoryEvent, MemoryTools
from pipelines.evaluation.memories.base import BufferedMemory, Count, Positive, TextIndex
from prompts.catalogue import load_prompt

RELATED = 5  # stored memories that are shown with each new fact


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
        conversation = "\n".join(event.line for event in events)
        prompt = load_prompt("memories/extract_facts").render(conversation=conversation)
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
        await self._apply(changes, near={str(number): number for number in near}, at=_time_of(events[-1]))

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


def _time_of(event: MemoryEvent) -> str:
    return f"[{event.at.isoformat(sep=' ')}] " if event.at else ""
