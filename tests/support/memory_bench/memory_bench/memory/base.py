"""What a provider may do, in the order in which the runner calls it."""

import asyncio
from pathlib import Path
from typing import Any

from memory_bench.models import Document

Found = tuple[list[Document], dict[str, Any] | None]


class MemoryProvider:
    name = ""
    concurrency = 4

    def initialize(self) -> None: ...

    def prepare(self, store_dir: Path, unit_ids: set[str] | None = None) -> None: ...

    def ingest(self, documents: list[Document]) -> None:
        raise NotImplementedError

    async def async_ingest(self, documents: list[Document]) -> None:
        await asyncio.to_thread(self.ingest, documents)

    def retrieve(self, query: str, k: int = 10, user_id: str | None = None, query_timestamp: str | None = None) -> Found:
        raise NotImplementedError

    async def async_retrieve(
        self, query: str, k: int = 10, user_id: str | None = None, query_timestamp: str | None = None
    ) -> Found:
        return await asyncio.to_thread(self.retrieve, query, k, user_id, query_timestamp)

    def cleanup(self) -> None: ...
