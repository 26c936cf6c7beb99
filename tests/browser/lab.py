"""The model provider that the UI's server asks in these tests: it knows every model's name, counts, and can be made slow."""

import json
from collections import Counter
from dataclasses import dataclass, field

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.embedded.app import embedded_app
from pipelines.embedded.bank import model_name
from tests.support.simulated_provider.fault_profile import FaultProfile
from tests.support.simulated_provider.provider import Provider


@dataclass
class Lab:
    """The embedded model under the names of others, so that calls have prices. `asked` counts requests by their content."""

    asked: Counter[bytes] = field(default_factory=Counter[bytes])
    provider: ASGIApp = field(default_factory=lambda: Provider(embedded_app(), FaultProfile()))

    def turn(self, profile: FaultProfile) -> None:
        """Change the fault profile from now on."""
        self.provider = Provider(embedded_app(), profile)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Note what is asked and pass it on; whoever hung up is not waited for."""
        if scope["type"] != "http" or scope["method"] != "POST":
            return await self.provider(scope, receive, send)
        body = await Request(scope, receive).body()
        self.asked[body] += 1
        asked = json.loads(body)
        renamed = json.dumps({**asked, "model": model_name()}).encode()
        messages: list[Message] = [{"type": "http.request", "body": renamed, "more_body": False}]

        async def again() -> Message:
            return messages.pop() if messages else await receive()

        async def send_renamed(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _without_length(message["headers"])}
            elif message["type"] == "http.response.body":
                message = {**message, "body": message.get("body", b"").replace(model_name().encode(), asked["model"].encode())}
            await send(message)

        headers = [*_without_length(scope["headers"]), (b"content-length", str(len(renamed)).encode())]
        return await self.provider({**scope, "headers": headers}, again, send_renamed)


def _without_length(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    return [(name, value) for name, value in headers if name.lower() != b"content-length"]
