"""A real HTTP server on loopback whose errors say everything that it was sent, in a form of its own."""

import json
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

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

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["content-length"] or 0))
            server.paths.append(self.path)
            server.headers.append({name.lower(): value for name, value in self.headers.items()})
            echo = {"error": {"message": f"cannot read {server.escape(what_was_sent(self))}"}}
            status, body = server.answer(self.path) or (400, echo)
            content = json.dumps(body).encode()
            elsewhere = server.redirect(self.path)
            self.send_response(307 if elsewhere else status)
            if elsewhere:
                self.send_header("location", elsewhere)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    server.url = f"http://127.0.0.1:{http.server_address[1]}"
    try:
        yield server
    finally:
        http.shutdown()
        http.server_close()
