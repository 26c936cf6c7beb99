"""Applications of WebArena-Infinity as a world: their pages in a browser, and their verifiers as the grade.

A page of theirs puts its whole state to `/api/state` at each change, and a verifier reads it there. So a server of ours shows
the pages and keeps that state. Of their Python only verifiers are run: inside the sandbox, where they are given the state.
"""

import json
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from mimetypes import guess_type
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from assets.isolation.boundary import run_isolated
from assets.records.base import ItemFailed
from assets.records.paths import leads_inside
from pipelines.agents.browser_page import CLICK, GO, PAGE_TOOLS, PRESS, BrowserPage, NoBrowser

VERIFIER = Path(__file__).with_name("webarena_verifier.py")
STATE = "/api/state"
EVENTS = "/api/events"  # by which their server tells a page to begin anew
INDEX = "index.html"
# What a page is made of. Their tasks, verifiers and descriptions lie in the same folder, and are not shown.
SHOWN = (".html", ".css", ".js", ".svg", ".png", ".jpg", ".jpeg", ".gif", ".webp", ".ico", ".woff", ".woff2", ".ttf")
MOST_STATE = 5_000_000  # bytes
BEGIN_SECONDS = 10  # in which a page puts its first state
VERIFY_SECONDS = 20
MOST_MESSAGE = 300  # characters of what a verifier says
RULES = (
    "You work in a web application: do there what the user asks, with your tools. Its first page is open already.",
    "You are shown a page as its accessibility tree. An element with a [ref=...] can be used.",
    "Nobody answers in words. Finish when it is done.",
)

LEFT = "State:\n"  # how the end of an episode tells it


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


class ApplicationServer:
    """Shows the pages of the application in a folder, on loopback, and keeps their state. Close it.

    `origin`: its address without a path. `state`: what a page put last, as JSON; "" before that.
    """

    def __init__(self, folder: Path) -> None:
        self.state = ""
        self.begun = threading.Event()
        self.putting = threading.Lock()
        server = self

        class ApplicationHandler(PageHandler):
            def do_GET(self) -> None:
                file = shown_file(folder, self.path)
                if self.path == EVENTS:
                    self.answer(204)  # nothing will come, and the page does not ask again
                elif file is None:
                    self.answer(404)
                else:
                    self.answer(200, file.read_bytes(), kind=guess_type(file)[0] or "text/plain")

            def do_PUT(self) -> None:
                if self.path != STATE or self.body_length > MOST_STATE:
                    self.answer(404 if self.path != STATE else 413)
                    return
                try:
                    with server.putting:  # a page puts states without waiting, and the last one counts
                        server.state = json.dumps(json.loads(self.rfile.read(self.body_length)), ensure_ascii=False)
                except (ValueError, RecursionError):
                    self.answer(400)
                    return
                server.begun.set()
                self.answer(200, b'{"status": "ok"}', kind="application/json")

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), ApplicationHandler)
        self._server.daemon_threads = True
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        self.origin = f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def shown_file(folder: Path, target: str) -> Path | None:
    """Return the file of a page below the folder; None for what is not shown."""
    name = unquote(urlsplit(target).path).lstrip("/") or INDEX
    if "\0" in name or not name.endswith(SHOWN):
        return None
    path = folder / name
    return path if leads_inside(folder, path) and path.is_file() else None


class ApplicationInBrowser:
    """An application as a world that an agent acts in by its pages. Close it after use."""

    ended = False

    def __init__(self, folder: Path, instruction: str) -> None:
        """Open its first page. Raises NoBrowser, and ItemFailed where the application does not begin."""
        self._server = ApplicationServer(folder)
        try:
            self._page = BrowserPage(self._server.origin)
        except NoBrowser:
            self._server.close()
            raise
        listed = "\n".join(f"- {line}" for line in RULES)
        self.rules = f"{listed}\nTask: {instruction}"  # in sight even when the first page is not any more
        first = self._page.call(GO, {"path": "/"})
        self.opening = f"{instruction}\n\nThe first page:\n{first}"
        if not self._server.begun.wait(BEGIN_SECONDS):
            self.close()
            raise ItemFailed("call_failed", f"{folder.name} puts no state to {STATE} as it begins: {first[:MOST_MESSAGE]}")

    @property
    def tools(self) -> list[dict[str, Any]]:
        return [tool.describe_for_prompt() for tool in PAGE_TOOLS]

    @property
    def state(self) -> str:
        """What the page put last, as JSON."""
        return self._server.state

    @property
    def final_state(self) -> str:
        """Return the state that the agent leaves, as JSON."""
        return f"{LEFT}{self.state}"

    def writes(self, tool: str) -> bool:
        """Return True for a click and a key, which may save something."""
        return tool in (CLICK, PRESS)

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        """Act on the page, and return its snapshot."""
        return self._page.call(tool, arguments)

    def say(self, text: str) -> str:
        """Return that nobody answers in words."""
        return "Nobody is there to answer; go on with the tools, or finish."

    def close(self) -> None:
        self._page.close()
        self._server.close()


@dataclass(frozen=True)
class Verifier:
    """A task's verifier: a file of Python that defines `verify(server_url) -> (bool, message)`."""

    name: str
    source: str

    def find_failure(self, state: str, *, seconds: int = VERIFY_SECONDS) -> str:
        """Return what the verifier says against a state; "" where it passes. Blocks.

        Raises ItemFailed where it does not come to an answer, and NoBoundary.
        """
        (verdict,) = verdicts([self], state, seconds=seconds)
        if verdict.passed is None:
            raise ItemFailed("call_failed", f"{self.name} gives no answer: {verdict.said}.")
        return "" if verdict.passed else verdict.said or "nothing"


class VerifierVerdict(NamedTuple):
    """What a verifier came to on a state, and what it said. `passed` None: it gave no answer."""

    passed: bool | None
    said: str


def verdicts(verifiers: Sequence[Verifier], state: str, *, seconds: int = VERIFY_SECONDS) -> list[VerifierVerdict]:
    """Return what each verifier comes to on a state, within so many seconds each. Blocks. Raises NoBoundary."""
    job = {"verifiers": [asdict(verifier) for verifier in verifiers], "state": state, "seconds": seconds}
    with tempfile.TemporaryDirectory(prefix="verifier-") as folder:
        told = run_isolated(VERIFIER, job=job, folder=Path(folder), seconds=seconds * (1 + len(verifiers)))
    lines = told.splitlines()
    return [_verdict(lines[place] if place < len(lines) else b"null", seconds=seconds) for place in range(len(verifiers))]


def _verdict(line: bytes, *, seconds: int) -> VerifierVerdict:
    """Read what was told of a verifier, which foreign code may have told."""
    try:
        passed, said = json.loads(line)
    except (TypeError, ValueError):
        return VerifierVerdict(None, f"it ended, or took longer than {seconds} seconds")
    return VerifierVerdict(passed if passed is None else passed is True, " ".join(str(said).split())[:MOST_MESSAGE])
