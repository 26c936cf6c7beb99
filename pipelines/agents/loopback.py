"""Servers of pages for a browser on this machine: on loopback, at a port of their own, until they are closed."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class PageHandler(BaseHTTPRequestHandler):
    """Answers with whole contents, and logs nothing: requests are steps of an episode already."""

    @property
    def body_length(self) -> int:
        """The bytes that the request has, as it says."""
        length = self.headers.get("Content-Length", "")
        return int(length) if length.isdecimal() else 0

    def answer(self, status: int, content: bytes = b"", *, kind: str = "text/plain") -> None:
        """Answer; a browser keeps nothing of it."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class LoopbackServer:
    """A running server. `origin`: its address without a path. Close it."""

    def __init__(self, handler: type[PageHandler]) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.origin = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
