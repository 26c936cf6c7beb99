"""The Hub over HTTP, in one process: the contract that the client of huggingface_hub relies on, and faults on demand.

The API is at 127.0.0.1 and the store of large files at localhost, which is another origin to the client.
"""

import asyncio
import re
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, unquote

import uvicorn
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from tests.support.hub_server import reading, writing
from tests.support.hub_server.faults import Fault
from tests.support.hub_server.state import Call, FakeHub, Refusal, Reply
from tests.support.waiting import wait_until

REPO = r"/api/datasets/(?P<repo>[^/]+/[^/]+)"
ROUTES: list[tuple[str, str, str, Callable[[FakeHub, Call], Reply]]] = [
    ("auth-check", "GET", rf"{REPO}/auth-check(?P<write>/write)?", reading.auth_check),
    ("create", "POST", r"/api/repos/create", writing.create),
    ("settings", "PUT", rf"{REPO}/settings", writing.settings),
    ("info", "GET", rf"{REPO}(/revision/(?P<revision>[^/]+))?", reading.info),
    ("tree", "GET", rf"{REPO}/tree/(?P<revision>[^/]+)(/(?P<path>[^/]+))?", reading.tree),
    ("paths-info", "POST", rf"{REPO}/paths-info/(?P<revision>[^/]+)", reading.paths_info),
    ("refs", "GET", rf"{REPO}/refs", reading.refs),
    ("tag", "POST", rf"{REPO}/tag/(?P<revision>[^/]+)", writing.tag),
    ("validate-yaml", "POST", r"/api/validate-yaml", writing.validate_yaml),
    ("preupload", "POST", rf"{REPO}/preupload/(?P<revision>[^/]+)", writing.preupload),
    ("commit", "POST", rf"{REPO}/commit/(?P<revision>[^/]+)", writing.commit),
    ("batch", "POST", r"/datasets/(?P<repo>[^/]+/[^/]+)\.git/info/lfs/objects/batch", writing.batch),
    ("verify", "POST", r"/lfs/verify/(?P<repo>[^/]+/[^/]+)", writing.verify),
    ("put", "PUT", r"/store/(?P<oid>[0-9a-f]{64})", writing.put),
    ("blob", "GET|HEAD", r"/store/(?P<oid>[0-9a-f]{64})", reading.blob),
    ("resolve", "GET|HEAD", r"/datasets/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<path>.+)", reading.resolve),
]


@dataclass
class HubServer:
    """An ASGI app in front of the hub of the moment."""

    hub: FakeHub

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        hub = self.hub
        hub.under_way += 1
        try:
            await self._serve(scope, receive, send)
        finally:
            hub.under_way -= 1

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        call = await _call(scope, receive)
        fault = self.hub.faults.take(call.route)
        if fault is not None and fault.kind == "before":
            fault.act()
        if fault is not None and fault.kind == "drop":
            return await _hang_up(send)
        if fault is not None and fault.kind == "status":
            reply = Reply(fault.status, fault.body.encode(), {"content-type": "application/json", **fault.headers})
        else:
            reply = _answer(self.hub, call)
        if fault is not None and fault.kind == "after":
            fault.act()
        if fault is not None and fault.kind == "lost":
            return await _hang_up(send)
        return await _send(send, reply, call=call, fault=fault)


def _answer(hub: FakeHub, call: Call) -> Reply:
    hub.asked.append(call.route)
    hub.bodies.append(call.body)
    try:
        return next((handler(hub, call) for route, _, _, handler in ROUTES if route == call.route), Reply(404, b"{}"))
    except Refusal as refusal:
        return refusal.reply


async def _call(scope: Scope, receive: Receive) -> Call:
    request = Request(scope, receive)
    raw = scope["raw_path"].decode()
    query = {key: values[0] for key, values in parse_qs(scope["query_string"].decode()).items()}
    for route, methods, pattern, _ in ROUTES:
        found = re.fullmatch(pattern, raw)
        if found and request.method in methods.split("|"):
            names = {key: unquote(value) for key, value in found.groupdict().items() if value is not None}
            return Call(route, request.method, names, query, dict(request.headers), await request.body())
    return Call("unknown", request.method, {"path": raw}, query, dict(request.headers), await request.body())


async def _hang_up(send: Send) -> None:
    # Uvicorn's own object; there is no way to end a connection without an answer in the protocol of ASGI.
    cycle: Any = getattr(send, "__self__")  # noqa: B009
    cycle.transport.abort()
    await asyncio.sleep(0.01)


async def _send(send: Send, reply: Reply, *, call: Call, fault: Fault | None) -> None:
    body = reply.body
    if fault is not None and fault.kind == "stall":
        await asyncio.sleep(fault.seconds)
    if fault is not None and fault.kind == "flip" and body:
        middle = len(body) // 2
        body = body[:middle] + bytes([body[middle] ^ 1]) + body[middle + 1 :]
    headers = {"x-request-id": "fake", "content-length": str(len(body)), **reply.headers}
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": reply.status, "headers": pairs})
    if call.method == "HEAD":
        body = b""
    elif fault is not None and fault.kind == "truncate":
        await send({"type": "http.response.body", "body": body[: len(body) // 2], "more_body": True})
        return await _hang_up(send)
    return await send({"type": "http.response.body", "body": body})


@contextmanager
def serving(app: HubServer, listener: socket.socket) -> Generator[None, None, None]:
    """Serve whoever comes to this listener, in a thread."""
    config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    wait_until(lambda: server.started)
    try:
        yield
    finally:
        server.should_exit = True
        thread.join()
