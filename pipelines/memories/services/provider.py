"""Providers of the Agent Memory Benchmark (vectorize-io/agent-memory-benchmark) as memories.

Its runner gives a provider all documents of a unit in one ingestion, and asks then. Some providers replace what they had been
given, others make their store anew. So each ingestion here has a provider of its own, with a folder and a unit of its own: it
gets everything so far before the first recall after a write, is asked until the next one, and is cleaned up.
"""

import asyncio
import secrets
import shutil
import tempfile
from collections.abc import Sequence
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

from pipelines.memories.contract import MemoryEvent, MemorySpec, best_within, chat_message, lines_of

SPOKEN = ("user", "assistant")


class Ingestion:
    """A provider that is given these writes once, as soon as it is needed. Copies of a memory share it until they write."""

    def __init__(self, kind: type[Any], writes: Sequence[Sequence[MemoryEvent]]) -> None:
        self.kind = kind
        self.writes = tuple(writes)
        self.unit = secrets.token_hex(12)  # what keeps users apart; a store that outlives the run must never meet one again
        self.holders = 1
        self._provider: Any = None
        self._folder = ""
        self._begun = asyncio.Lock()

    async def provider(self) -> Any:
        """Return the provider, after it has taken in everything."""
        async with self._begun:
            if self._provider is None:
                self._provider = await asyncio.to_thread(self._prepare_provider)
                await self._provider.async_ingest(self._documents())
        return self._provider

    def _prepare_provider(self) -> Any:
        # In a thread where no loop runs, as its runner has it: these may run one of their own.
        provider = self.kind()
        self._folder = tempfile.mkdtemp(prefix="provider-")
        provider.initialize()
        provider.prepare(Path(self._folder), unit_ids={self.unit})
        return provider

    def _documents(self) -> list[Any]:
        document = import_module("memory_bench.models").Document
        documents = list[Any]()
        for events in self.writes:
            for told in _told_together(events):
                made = document(
                    id=f"{self.unit}/{len(documents)}",
                    content="\n".join(lines_of(told)),
                    user_id=self.unit,
                    messages=list(map(chat_message, told)),
                    timestamp=told[0].at.isoformat() if told[0].at else None,
                )
                documents.append(made)
        return documents

    def place_of(self, document_id: object) -> int | None:
        """Return the place of a document among ours; None for one that the provider made itself."""
        unit, _, place = str(document_id).rpartition("/")
        return int(place) if unit == self.unit and place.isdecimal() else None

    async def let_go(self) -> None:
        """Clean up after the last memory that held it."""
        self.holders -= 1
        provider = self._provider
        if self.holders == 0 and provider is not None:
            self._provider = None
            await asyncio.to_thread(getattr(provider, "cleanup", _nothing_to_do))
            shutil.rmtree(self._folder, ignore_errors=True)


def _told_together(events: Sequence[MemoryEvent]) -> list[list[MemoryEvent]]:
    """Return what makes a document each: a session of a dialogue, as the harness has it, or one document."""
    found = list[list[MemoryEvent]]()
    for event in events:
        if event.kind in SPOKEN and found and found[-1][-1].kind in SPOKEN:
            found[-1].append(event)
        else:
            found.append([event])
    return found


def _nothing_to_do() -> None:
    """Stand for the method of a provider that has none."""


class ProviderMemory:
    """A provider, named as `module:Class`. Texts that it gives back as they are come in order of time."""

    package: ClassVar[str] = "memory_bench"  # whose code runs, beside the provider's own

    @classmethod
    def spec_at(cls, address: str) -> MemorySpec | None:
        if ":" not in address or "://" in address:
            return None
        return MemorySpec(name=address.rpartition(":")[2], kind="provider", settings={"address": address})

    @classmethod
    def locate(cls, spec: MemorySpec) -> MemorySpec:
        return spec

    def __init__(self, *, address: str, topk: int = 30) -> None:
        module, _, name = address.partition(":")
        self.kind: type[Any] = getattr(import_module(module), name)
        self.topk = topk
        self.writes: list[list[MemoryEvent]] = []
        self.ingestion: Ingestion | None = None

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        self.writes.append(list(events))
        await self.close()

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        if not self.writes:
            return []
        if self.ingestion is None:
            self.ingestion = Ingestion(self.kind, self.writes)
        ingestion = self.ingestion
        provider = await ingestion.provider()
        found, _ = await provider.async_retrieve(query, k=self.topk, user_id=ingestion.unit)
        texts = [str(document.content) for document in found]
        places = [ingestion.place_of(document.id) for document in found]
        known = [place for place in places if place is not None]
        if len(known) < len(places):
            return texts
        # The best that fit, then as they were perceived: of two values of one thing the later holds.
        kept = best_within(texts, tokens) or texts[:1]
        order = sorted(range(len(kept)), key=lambda index: known[index])
        return [kept[index] for index in order]

    async def fork(self) -> "ProviderMemory":
        if self.writes and self.ingestion is None:
            self.ingestion = Ingestion(self.kind, self.writes)
        anew = copy(self)
        anew.writes = list(self.writes)
        if anew.ingestion:
            anew.ingestion.holders += 1
        return anew

    async def close(self) -> None:
        """Let go of the ingestion: nothing is asked of it any more."""
        ingestion = self.ingestion
        self.ingestion = None
        if ingestion:
            await ingestion.let_go()
