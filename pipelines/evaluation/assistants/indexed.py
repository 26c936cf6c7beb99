"""RAG and AWE: an external memory of texts, found by the likeness of their embeddings (section 4.1)."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import BaseModel, Field

from assets.llm.ports import Vector
from assets.llm.structured_output import ask_structured
from assets.records.base import ItemFailed, Text
from pipelines.evaluation.assistant import Settings, Tools
from pipelines.evaluation.assistants.buffered import BufferedAssistant, BufferedMessage, BufferSettings
from pipelines.evaluation.assistants.chat import AssistantModel, validate_settings
from pipelines.evaluation.assistants.vector_index import Memory, VectorIndex, shared_database
from prompts.catalogue import load_prompt

RELATED = 5  # stored memories that are shown with each new fact


class IndexSettings(BufferSettings):
    """`topk`: memories found for a message. `embedding_model` None: the run's."""

    topk: int = Field(default=30, ge=1)
    embedding_model: str | None = None


class FactsReply(BaseModel):
    """What a piece of conversation tells."""

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


class RagAssistant(BufferedAssistant):
    """RAG-(freq, ns, topk): every message is stored word for word."""

    def __init__(self, settings: Settings, tools: Tools) -> None:
        self._index_settings = validate_settings(settings, IndexSettings)
        super().__init__(self._index_settings, AssistantModel(self._index_settings, tools))
        self._embedder = tools.embedder
        self._embedding_model = self._index_settings.embedding_model or tools.default_embedding_model
        self._index = VectorIndex(shared_database())
        self._found: dict[str, list[str]] = {}  # since the last change of the index

    async def write(self, lines: list[BufferedMessage]) -> None:
        vectors = await self._vectors([line.text for line in lines])
        self._index.add([(line.at, line.text) for line in lines], vectors)
        self._found.clear()

    async def memories(self, question: str) -> list[str]:
        if question not in self._found:
            [vector] = await self._vectors([question])
            nearest = self._index.search(vector, limit=self._index_settings.topk)
            self._found[question] = [memory.line for memory in sorted(nearest, key=lambda memory: (memory.at, memory.number))]
        return self._found[question]

    def dump_memory(self) -> Any:
        return self._index.dump()

    def load_memory(self, content: Any) -> None:
        self._index.load(content)
        self._found.clear()

    async def _vectors(self, texts: Sequence[str]) -> list[Vector]:
        return await self._embedder.embed(texts, model=self._embedding_model)


class AweAssistant(RagAssistant):
    """AWE-(freq, ns, topk): a model decides which facts are stored, and what becomes of those stored before."""

    async def write(self, lines: list[BufferedMessage]) -> None:
        try:
            facts = await self._facts(lines)
            if facts:
                await self._reconcile(facts, at=lines[-1].at)
            self._found.clear()
        except ItemFailed:
            # A model that cannot put it into words twice in a row has not remembered it.
            self.failed_writes += 1

    async def _facts(self, lines: list[BufferedMessage]) -> list[str]:
        conversation = "\n".join(line.text for line in lines)
        prompt = load_prompt("evaluation/extract_facts").render(conversation=conversation)
        return await ask_structured(
            self._model.model,
            prompt=prompt,
            reply=FactsReply,
            convert=lambda reply: list(dict.fromkeys(reply.facts)),
            recipe=self._model.recipe,
        )

    async def _reconcile(self, facts: list[str], *, at: str) -> None:
        vectors = await self._vectors(facts)
        near = {memory.number: memory for vector in vectors for memory in self._index.search(vector, limit=RELATED)}
        if not near:
            self._index.add([(at, fact) for fact in facts], vectors)
            return
        await self._apply(await self._changes(facts, near=near), near=near, at=at)

    async def _changes(self, facts: list[str], *, near: Mapping[int, Memory]) -> list[Change]:
        known = [{"id": str(number), "at": near[number].at, "text": near[number].text} for number in sorted(near)]
        prompt = load_prompt("evaluation/reconcile_memories").render(memories=known, facts=facts)
        return await ask_structured(
            self._model.model, prompt=prompt, reply=ChangesReply, convert=lambda reply: reply.memory, recipe=self._model.recipe
        )

    async def _apply(self, changes: list[Change], *, near: Mapping[int, Memory], at: str) -> None:
        written = [change for change in changes if change.event in ("ADD", "UPDATE") and change.text.strip()]
        vectors = await self._vectors([change.text for change in written])
        for change in changes:
            if change.event == "DELETE" and change.id in map(str, near):
                self._index.drop(int(change.id))
        for change, vector in zip(written, vectors, strict=True):
            if change.event == "UPDATE" and change.id in map(str, near):
                self._index.change(int(change.id), at=at, text=change.text, vector=vector)
            else:
                self._index.add([(at, change.text)], [vector])
