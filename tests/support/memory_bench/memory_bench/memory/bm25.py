"""Words: what is ingested replaces what was there, and without any ingestion there is an error, as in the harness's own."""

import math
from collections import Counter

from memory_bench.memory.base import Found, MemoryProvider
from memory_bench.models import Document


class BM25MemoryProvider(MemoryProvider):
    name = "bm25"

    def __init__(self) -> None:
        self.documents: list[Document] | None = None

    def ingest(self, documents: list[Document]) -> None:
        self.documents = [Document(id=one.id, content=one.content, user_id=one.user_id) for one in documents]

    def retrieve(self, query: str, k: int = 10, user_id: str | None = None, query_timestamp: str | None = None) -> Found:
        if self.documents is None:
            raise RuntimeError("nothing was ingested")
        own = [one for one in self.documents if user_id is None or one.user_id == user_id] or self.documents
        counts = [Counter(one.content.lower().split()) for one in own]
        mean = sum(one.total() for one in counts) / len(counts)
        scores = [0.0] * len(own)
        for word in query.lower().split():
            having = sum(word in one for one in counts)
            rarity = math.log(1 + (len(own) - having + 0.5) / (having + 0.5))
            for place, one in enumerate(counts):
                scores[place] += rarity * one[word] * 2.5 / (one[word] + 1.5 * (0.25 + 0.75 * one.total() / mean))
        best = sorted(range(len(own)), key=lambda place: -scores[place])
        return [own[place] for place in best[:k]], None
