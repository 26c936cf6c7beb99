"""Memories that are services: over HTTP (two routes), or over MCP (two tools). One in any language can be evaluated so.

A service keeps sessions apart by the id that comes with every request. It may fork a session itself; one that does not is
written anew into a fresh session for every copy, so that no copy can see what comes later.
"""

import secrets
import tempfile
from collections.abc import Sequence
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx2
from pydantic import BaseModel, ValidationError

from pipelines.evaluation.contract import MemoryEvent
from pipelines.evaluation.hosting import MemoryFailed


class RecallReply(BaseModel):
    """What a service gives back for a query, the best first."""

    texts: list[str]


def event_json(event: MemoryEvent) -> dict[str, str]:
    """An event as services get it; `at` is ISO, or empty."""
    return {"text": event.text, "kind": event.kind, "at": event.at.isoformat() if event.at else "", "source": event.source}


class HttpMemory:
    """A service with the routes `write` and `recall`, and perhaps `fork`, below its address.

    POST write {"session", "events": [{"text", "kind", "at", "source"}]}; POST recall {"session", "query", "tokens"} gives
    {"texts": [...]}; POST fork {"session", "into"} copies a session, and answers 404 or 405 where the service cannot.
    """

    def __init__(self, *, address: str, seconds: float = 120.0) -> None:
        self.address = address.rstrip("/")
        self.session = secrets.token_hex(12)  # a service may outlive the run, and must never meet an id again
        self.client = httpx2.AsyncClient(timeout=seconds)  # copies share it
        self.written: list[list[dict[str, str]]] = []

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        batch = [event_json(event) for event in events]
        await self._post("write", {"session": self.session, "events": batch})
        self.written.append(batch)

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        reply = await self._post("recall", {"session": self.session, "query": query, "tokens": tokens})
        try:
            return RecallReply.model_validate_json(reply.content).texts
        except ValidationError as error:
            raise MemoryFailed(f'{self.address}/recall answered something else than {{"texts": [...]}}.') from error

    async def fork(self) -> "HttpMemory":
        anew = copy(self)
        anew.session, anew.written = secrets.token_hex(12), list[list[dict[str, str]]]()
        reply = await self._post("fork", {"session": self.session, "into": anew.session}, may_lack=True)
        if reply.is_success:
            anew.written = list(self.written)
            return anew
        for batch in self.written:
            await anew._post("write", {"session": anew.session, "events": batch})
            anew.written.append(batch)
        return anew

    async def _post(self, route: str, body: dict[str, Any], *, may_lack: bool = False) -> httpx2.Response:
        url = f"{self.address}/{route}"
        try:
            reply = await self.client.post(url, json=body)
        except httpx2.HTTPError as error:
            kind = type(error).__name__
            raise MemoryFailed(f"The memory service does not answer at {url} ({kind}); is it running?") from error
        if not reply.is_success and not (may_lack and reply.status_code in (404, 405, 501)):
            raise MemoryFailed(f"The memory service answered {reply.status_code} at {url}: {reply.text[:200]}")
        return reply


class ProviderMemory:
    """A provider of the Agent Memory Benchmark (vectorize-io/agent-memory-benchmark), named as `module:Class`.

    It has no copies: a copy is written anew under another user's id, which is the provider's namespace.
    """

    def __init__(self, *, address: str, topk: int = 30) -> None:
        module, _, name = address.partition(":")
        self.provider: Any = getattr(import_module(module), name)()
        self.document: Any = import_module("memory_bench.models").Document
        self.session, self.topk, self.count = secrets.token_hex(12), topk, 0
        self.provider.initialize()
        self.provider.prepare(Path(tempfile.mkdtemp(prefix="provider-")), unit_ids={self.session})

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        documents = [
            self.document(
                id=f"{self.session}/{number}",
                content=event.line,
                user_id=self.session,
                messages=[{"role": "assistant" if event.kind == "assistant" else "user", "content": event.text}],
                timestamp=event.at.isoformat() if event.at else None,
            )
            for number, event in enumerate(events, start=self.count)
        ]
        self.count += len(events)
        await self.provider.async_ingest(documents)

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        found, _ = await self.provider.async_retrieve(query, k=self.topk, user_id=self.session)
        return [document.content for document in found]


class McpMemory:
    """An MCP server with a tool that writes and one that recalls; needs the package `mcp`.

    `address`: the server's URL, for streamable HTTP. The tools get the same fields as the routes of an HTTP service, and the
    recalling one answers with a text for each memory, or with {"texts": [...]}.
    """

    def __init__(self, *, address: str, write_tool: str = "write", recall_tool: str = "recall") -> None:
        self.address, self.write_tool, self.recall_tool = address, write_tool, recall_tool
        self.session = secrets.token_hex(12)

    async def write(self, events: Sequence[MemoryEvent]) -> None:
        await self._call(self.write_tool, {"session": self.session, "events": [event_json(event) for event in events]})

    async def recall(self, query: str, *, tokens: int) -> list[str]:
        result = await self._call(self.recall_tool, {"session": self.session, "query": query, "tokens": tokens})
        if result.structured_content and "texts" in result.structured_content:
            return list(result.structured_content["texts"])
        return [part.text for part in result.content if part.type == "text"]

    async def _call(self, tool: str, arguments: dict[str, Any]) -> Any:
        try:
            mcp: Any = import_module("mcp")
        except ModuleNotFoundError as error:
            raise MemoryFailed(
                "A memory over MCP needs the package mcp (2.3 or later); install it with: pip install mcp"
            ) from error
        async with mcp.Client(self.address) as client:
            result = await client.call_tool(tool, arguments)
        if result.is_error:
            raise MemoryFailed(f"The tool {tool!r} of {self.address} failed: {result.content}")
        return result
