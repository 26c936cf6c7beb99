"""Requests put to the simulated provider in process."""

import asyncio
from typing import Any

import httpx2

from pipelines.embedded.bank import model_name
from tests.support.simulated_provider.provider import Provider

TEXTS = [f"What about {number}?" for number in range(40)]


def chat(text: str, **more: object) -> dict[str, Any]:
    return {"model": model_name(), "messages": [{"role": "user", "content": text}], **more}


def post(provider: Provider, body: dict[str, Any]) -> httpx2.Response | None:
    """One try; None when the connection was dropped."""

    async def once() -> httpx2.Response | None:
        transport = httpx2.ASGITransport(app=provider)
        async with httpx2.AsyncClient(transport=transport, base_url="http://model") as client:
            try:
                return await client.post("/v1/chat/completions", json=body)
            except ConnectionResetError:
                return None

    return asyncio.run(once())
