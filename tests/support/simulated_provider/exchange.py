"""One request and its response, as whole values: read, passed to the app behind, answered, or left without a response."""

import asyncio
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, cast

from starlette.types import ASGIApp, Message, Receive, Scope, Send

CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class CapturedRequest:
    """A request with its whole body."""

    scope: Scope
    body: bytes

    @property
    def path(self) -> str:
        """Where it went."""
        return self.scope["path"]

    @cached_property
    def content(self) -> dict[str, Any] | None:
        """The body, where it is a JSON object."""
        try:
            content: object = json.loads(self.body)
        except ValueError:
            return None
        return cast(dict[str, Any], content) if isinstance(content, dict) else None

    @cached_property
    def identity(self) -> str:
        """What makes it this very request. An upload's body is left out: its boundary is drawn anew each time."""
        return identity(self.scope["method"], self.path, self.content and without_model(self.content))

    def with_content(self, content: Mapping[str, Any]) -> "CapturedRequest":
        """The same request with another body."""
        return CapturedRequest(self.scope, json.dumps(content, ensure_ascii=False).encode())


@dataclass(frozen=True)
class CapturedResponse:
    """A response with its whole body."""

    status: int
    body: bytes
    headers: tuple[tuple[bytes, bytes], ...] = ((b"content-type", b"application/json"),)

    @cached_property
    def content(self) -> dict[str, Any]:
        """The body of a response of ours."""
        return json.loads(self.body)

    def with_content(self, content: Mapping[str, Any]) -> "CapturedResponse":
        """The same response with another body."""
        return replace(self, body=json.dumps(content, ensure_ascii=False).encode())

    def with_headers(self, headers: Mapping[str, str]) -> "CapturedResponse":
        """The response with these headers too."""
        added = ((name.encode(), value.encode()) for name, value in headers.items())
        return replace(self, headers=(*self.headers, *added))


def without_model(chat: Mapping[str, Any]) -> dict[str, Any]:
    """The request's body without its model: the embedded model's name changes with its words, and faults are to stay."""
    return {name: value for name, value in chat.items() if name != "model"}


def identity(*parts: object) -> str:
    """A digest over JSON values."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def error_response(
    status: int, message: str, *, kind: str = "invalid_request_error", code: str | None = None
) -> CapturedResponse:
    """An error in the form of the OpenAI API."""
    error = {"message": message, "type": kind, "param": None, "code": code}
    return CapturedResponse(status, json.dumps({"error": error}).encode())


async def read(scope: Scope, receive: Receive) -> CapturedRequest:
    """Take in a request."""
    body = bytearray()
    while True:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body"):
            return CapturedRequest(scope, bytes(body))


async def forward(app: ASGIApp, request: CapturedRequest) -> CapturedResponse:
    """Pass a request to an app in process."""
    inbox: list[Message] = [{"type": "http.request", "body": request.body, "more_body": False}]
    outbox: list[Message] = []

    async def receive() -> Message:
        return inbox.pop() if inbox else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        outbox.append(message)

    await app(request.scope, receive, send)
    body = b"".join(message.get("body", b"") for message in outbox[1:])
    headers = tuple(header for header in outbox[0].get("headers", ()) if header[0] != b"content-length")
    return CapturedResponse(outbox[0]["status"], body, headers)


async def send_response(response: CapturedResponse, send: Send) -> None:
    """Send a response."""
    length = (b"content-length", str(len(response.body)).encode())
    await send({"type": "http.response.start", "status": response.status, "headers": [*response.headers, length]})
    await send({"type": "http.response.body", "body": response.body})


async def hang(receive: Receive) -> None:
    """Send nothing until the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        continue


async def send_raw(parts: Sequence[bytes], *, receive: Receive, send: Send) -> None:
    """Send bytes past the server, a moment apart, and close the connection. Raises ConnectionResetError without one."""
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is None:
        raise ConnectionResetError("The simulated provider dropped the connection.")
    for part in parts:
        if transport.is_closing():
            break
        transport.write(part)
        await asyncio.sleep(0.02)
    transport.close()
    await hang(receive)


async def drop(receive: Receive, send: Send) -> None:
    """Close the connection without a response. Raises ConnectionResetError where there is no connection to close."""
    # ASGI has no message for this. Uvicorn's `send` is a method of the exchange, which knows its transport.
    transport = getattr(getattr(send, "__self__", None), "transport", None)
    if transport is None:
        raise ConnectionResetError("The simulated provider dropped the connection.")
    transport.abort()
    await hang(receive)
