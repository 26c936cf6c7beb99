"""A harness of verifiers that asks in this process; its own would install a program with uv, from a network."""

from typing import Any

import httpx
import verifiers.v1 as vf

__all__ = ["LoopbackHarness"]


class LoopbackHarness(vf.Harness[vf.HarnessConfig]):
    """Sends the whole conversation once for each turn."""

    APPENDS_SYSTEM_PROMPT = True
    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, mcp_urls: Any, data: Any
    ) -> vf.ProgramResult:
        """Return when the model has answered; verifiers stands between and records it."""
        _, prompt = self.resolve_prompt(data)
        said = [{"role": one.role, "content": one.content} for one in prompt]
        async with httpx.AsyncClient() as client:
            url = f"{endpoint}/chat/completions"
            headers = {"Authorization": f"Bearer {secret}"}
            reply = await client.post(url, headers=headers, json={"model": ctx.model, "messages": said}, timeout=60)
        return vf.ProgramResult(exit_code=int(reply.is_error), stdout=reply.text, stderr="")
