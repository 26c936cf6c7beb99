"""A memory service over HTTP on loopback, a session a list, with what services have and lack; it fails by a seed.

It fails by 502, 429, and lines that drop before and after the work is done.
"""

import hashlib
import json
import re
import threading
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

Habit = Literal["fork", "id", "none", "settle", "forget"]
FAILURES = ("502", "429", "drops before", "drops after")
FORGOTTEN = re.compile(r"forget my ([^,.]+?)(?:,| for good)")


@dataclass
class MemoryService:
    """Remembers what is written to each session, and knows a write by its id. It knows no session before its first write.

    `habit`: it copies sessions (`fork`), takes an id for a copy (`id`), copies none (`none`), finds what was written only after
    the route `settle`, or drops sentences on what the user wants forgotten (`forget`). `share` of all requests fail, each try
    anew. `gone`: it answers nothing but 503.
    """

    habit: Habit = "fork"
    share: float = 0.0
    seed: int = 0
    gone: bool = False
    address: str = ""
    failed: int = 0
    sessions: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    waiting: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    ids: set[str] = field(default_factory=set[str])
    tries: Counter[bytes] = field(default_factory=Counter[bytes])

    def failure_of(self, content: bytes) -> str:
        """How this try of a request fails; "" for one that does not. Events or query decide, and not the order."""
        body = json.loads(content)
        asked = json.dumps([body.get("events"), body.get("query")]).encode()
        self.tries[asked] += 1
        drawn = hashlib.sha256(asked + f"{self.tries[asked]} {self.seed}".encode()).digest()
        if self.gone or int.from_bytes(drawn[:4], "big") >= self.share * 2**32:
            return ""
        self.failed += 1
        return FAILURES[drawn[4] % len(FAILURES)]

    def answer(self, route: str, body: dict[str, Any]) -> tuple[int, object]:
        """Status and body of the answer to a request that arrives."""
        if self.gone:
            return 503, {"error": "no server is left"}
        session = body["session"]
        if route == "write":
            self._write(session, body)
        elif session not in self.sessions:
            return 404, {"error": "user not found"}
        elif route == "recall":
            return 200, {"texts": self._found(session, body["query"])}
        elif route == "fork" and self.habit in ("fork", "id"):
            told = self.sessions[session]
            self.sessions[body["into"]] = told if self.habit == "id" else list(told)
        elif route == self.habit == "settle":
            self.sessions[session] += self.waiting.pop(session, [])
        elif route == self.habit == "forget":
            self._forget(session, body["event"]["text"])
        else:
            return 404, {"error": "no such route"}
        return 200, {}

    def _write(self, session: str, body: dict[str, Any]) -> None:
        told = self.sessions.setdefault(session, [])
        if self.habit == "settle":
            told = self.waiting.setdefault(session, [])
        if body["id"] not in self.ids:
            told += [f"{event['kind']}: {event['text']}" for event in body["events"]]
        self.ids.add(body["id"])

    def _found(self, session: str, query: str) -> list[str]:
        wanted = set(re.findall(r"\w+", query.lower()))
        return [line for line in self.sessions[session] if wanted & set(re.findall(r"\w+", line.lower()))][-40:]

    def _forget(self, session: str, request: str) -> None:
        matters = [matter.lower() for matter in FORGOTTEN.findall(request)]
        for place, line in enumerate(self.sessions[session]):
            sentences = re.split(r"(?<=[.!?]) ", line)
            kept = [one for one in sentences if not any(matter in one.lower() for matter in matters)]
            self.sessions[session][place] = " ".join(kept)


@contextmanager
def memory_service(**given: Any) -> Generator[MemoryService]:
    """A running service."""
    memory = MemoryService(**given)

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            content = self.rfile.read(int(self.headers["content-length"]))
            failure = memory.failure_of(content)
            status, answer = 502, object()
            if failure in ("", "drops after"):
                status, answer = memory.answer(self.path.rpartition("/")[2], json.loads(content))
            if failure.startswith("drops"):
                self.connection.close()
                return
            text = json.dumps(answer if not failure else {"error": failure}).encode()
            self.send_response(int(failure or status))
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, format: str, *args: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        request_queue_size = 128  # so that no line drops but by the seed

    http = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=http.serve_forever, daemon=True).start()
    memory.address = f"http://127.0.0.1:{http.server_address[1]}/m"
    try:
        yield memory
    finally:
        http.shutdown()
        http.server_close()
