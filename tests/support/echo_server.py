"""A real HTTP server on loopback whose errors say everything that it was sent, in a form of its own."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.support.local_server import QuietHandler, serve_requests

Answer = tuple[int, object]


def what_was_sent(handler: BaseHTTPRequestHandler) -> str:
    """The request's line and headers, as debug pages of proxies show them."""
    return "\n".join([handler.requestline, *(f"{name}: {value}" for name, value in handler.headers.items())])


@dataclass
class EchoServer:
    """`answer` makes status and body of a path; `escape` is the form in which what was sent is repeated.

    `redirect`: the address that a path is sent on to, if any.
    """

    url: str = ""
    answer: Callable[[str], Answer | None] = lambda path: None
    escape: Callable[[str], str] = str
    redirect: Callable[[str], str] = lambda path: ""
    paths: list[str] = field(default_factory=list[str])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])


@contextmanager
def echo_server(**given: Any) -> Generator[EchoServer]:
    """One that answers 400 to what `answer` knows nothing of."""
    server = EchoServer(**given)

    class Handler(QuietHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"] or 0))
            server.paths.append(self.path)
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            echo = {"error": {"message": f"cannot read {server.escape(what_was_sent(self))}"}}
            status, body = server.answer(self.path) or (400, echo)
            elsewhere = server.redirect(self.path)
            self.answer(307 if elsewhere else status, json.dumps(body).encode(), location=elsewhere)

        do_GET = do_POST

    with serve_requests(Handler) as http:
        server.url = http.url
        yield server
