"""The Batch API of the simulated provider: files, batch jobs that take their time, and their output."""

import email
import email.policy
import json
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tests.support.simulated_provider.exchange import (
    CHAT,
    CapturedRequest,
    CapturedResponse,
    error_response,
    forward,
    send_response,
)
from tests.support.simulated_provider.fault_profile import FaultLog, FaultProfile

MOST_LINES = 50_000
TOO_LATE = {"code": "batch_expired", "message": "The request was not executed before the completion window ended."}


class BadBatch(ValueError):
    """An input file that cannot be worked on, with the number of the line."""

    def __init__(self, code: str, message: str, *, line: int | None = None) -> None:
        super().__init__(message)
        self.code, self.line = code, line


@dataclass
class Line:
    """One request of a batch. `response` None once the job has ended: it was not done in time."""

    custom_id: str
    body: bytes
    response: CapturedResponse | None = None


@dataclass
class Job:
    """One batch. `scope` is that of the request that made it; the lines are request under its key."""

    id: str
    file_id: str
    metadata: dict[str, str]
    scope: Scope
    lines: list[Line] = field(default_factory=list[Line])
    done: int = 0
    status: str = "in_progress"
    files: dict[str, str] = field(default_factory=dict[str, str])
    errors: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    created: int = field(default_factory=lambda: int(time.time()))
    began: float = 0.0
    worked_on: bool = False

    @property
    def ended(self) -> bool:
        """Whether nothing more happens to it."""
        return self.status != "in_progress"

    def due(self, delay: float, *, now: float) -> int:
        """How many lines should be done by now; the work is spread evenly over the delay in seconds."""
        share = min(1.0, (now - self.began) / delay) if delay else 1.0
        return int(share * len(self.lines))

    def fail(self, bad: BadBatch) -> None:
        """End it before any work."""
        self.status = "failed"
        self.errors.append({"code": bad.code, "message": str(bad), "line": bad.line, "param": None})

    def results(self, status: str) -> dict[str, bytes]:
        """Content of the output and the error file when the job ends like this."""
        output, error = list[dict[str, Any]](), list[dict[str, Any]]()
        for number, line in enumerate(self.lines):
            entry = {"id": f"batch_req_{number:06d}", "custom_id": line.custom_id, "response": None, "error": None}
            if line.response is not None:
                body = {"status_code": line.response.status, "request_id": entry["id"], "body": line.response.content}
                (output if line.response.status == 200 else error).append({**entry, "response": body})
            elif status == "expired":
                error.append({**entry, "error": TOO_LATE})
        return {"output_file_id": _jsonl(output), "error_file_id": _jsonl(error)}

    def public(self) -> dict[str, Any]:
        """As the API shows it."""
        good = sum(line.response is not None and line.response.status == 200 for line in self.lines)
        late = self.ended and self.status != "failed"
        failed = (len(self.lines) if late else self.done) - good
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": CHAT,
            "errors": {"object": "list", "data": self.errors} if self.errors else None,
            "input_file_id": self.file_id,
            "completion_window": "24h",
            "status": self.status,
            "output_file_id": self.files.get("output_file_id"),
            "error_file_id": self.files.get("error_file_id"),
            "created_at": self.created,
            "request_counts": {"total": len(self.lines), "completed": good, "failed": max(0, failed)},
            "metadata": self.metadata,
        }


def parse(content: bytes) -> list[Line]:
    """The requests of an input file. Raises BadBatch."""
    rows = [row for row in content.split(b"\n") if row.strip()]
    if not rows or len(rows) > MOST_LINES:
        raise BadBatch("invalid_file", f"A batch has from 1 to {MOST_LINES} lines, not {len(rows)}.")
    entries = [_entry(row, number) for number, row in enumerate(rows, start=1)]
    repeated = [name for name, times in Counter(entry["custom_id"] for entry in entries).items() if times > 1]
    if repeated:
        raise BadBatch("duplicate_custom_id", f"The custom_id {repeated[0]!r} is there twice.")
    if len({entry["body"].get("model") for entry in entries}) > 1:
        raise BadBatch("mismatched_model", "All requests of a batch go to one model.")
    return [Line(entry["custom_id"], json.dumps(entry["body"], ensure_ascii=False).encode()) for entry in entries]


def _entry(row: bytes, number: int) -> dict[str, Any]:
    try:
        entry: Any = json.loads(row)
        right = (entry["method"], entry["url"]) == ("POST", CHAT) and entry["custom_id"] and isinstance(entry["body"], dict)
    except (ValueError, KeyError, TypeError) as error:
        raise BadBatch("invalid_json_line", "The line is not a JSON object with the four keys.", line=number) from error
    if not right:
        raise BadBatch("invalid_method_or_url", f"The line is not a POST to {CHAT}.", line=number)
    return entry


def _jsonl(entries: list[dict[str, Any]]) -> bytes:
    return b"".join(json.dumps(entry, ensure_ascii=False).encode() + b"\n" for entry in entries)


LONGEST_LOOK = 0.25  # seconds of work done while a client looks at its job
RespondToLine = Callable[[CapturedRequest, tuple[str, int]], Awaitable[CapturedResponse]]


class Batches:
    """An ASGI app. It works when someone looks: a look at a job first does the lines that are due by then.

    So it needs no task in the background, and serves any number of event loops one after another.
    """

    def __init__(
        self, app: ASGIApp, profile: FaultProfile, *, log: FaultLog, respond: RespondToLine, clock: Callable[[], float]
    ) -> None:
        self._app, self._profile, self._log, self._respond, self._clock = app, profile, log, respond, clock
        self._files: dict[str, tuple[dict[str, Any], bytes]] = {}
        self._jobs: dict[str, Job] = {}
        self._routes = Starlette(
            routes=[
                Route("/v1/files", self._upload, methods=["POST"]),
                Route("/v1/files/{file_id}", self._file, methods=["GET"]),
                Route("/v1/files/{file_id}/content", self._content, methods=["GET"]),
                Route("/v1/batches", self._create, methods=["POST"]),
                Route("/v1/batches", self._list, methods=["GET"]),
                Route("/v1/batches/{batch_id}", self._look, methods=["GET"]),
                Route("/v1/batches/{batch_id}/cancel", self._cancel, methods=["POST"]),
            ]
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve a request whose key the app behind accepts."""
        models = CapturedRequest({**scope, "method": "GET", "path": "/v1/models", "raw_path": b"/v1/models"}, b"")
        permitted = await forward(self._app, models)
        if permitted.status != 200:
            await send_response(permitted, send)
            return
        await self._routes({**scope, "path_params": {}}, receive, send)

    async def _upload(self, request: Request) -> Response:
        head = f"Content-Type: {request.headers.get('content-type', '')}\r\n\r\n".encode()
        form = email.message_from_bytes(head + await request.body(), policy=email.policy.HTTP)
        parts = {part.get_param("name", header="content-disposition"): part for part in form.iter_parts()}
        if "file" not in parts or "purpose" not in parts:
            return _refused(400, "The form needs a file and a purpose.")
        content = parts["file"].get_payload(decode=True)
        purpose = str(parts["purpose"].get_payload()).strip()
        return JSONResponse(self._keep(content if isinstance(content, bytes) else b"", purpose=purpose))

    def _keep(self, content: bytes, *, purpose: str) -> dict[str, Any]:
        file_id = f"file-{len(self._files) + 1:06d}"
        about: dict[str, Any] = {
            "id": file_id,
            "object": "file",
            "bytes": len(content),
            "created_at": int(time.time()),
            "filename": f"{purpose}.jsonl",
            "purpose": purpose,
            "status": "processed",
        }
        self._files[file_id] = (about, content)
        return about

    async def _file(self, request: Request) -> Response:
        found = self._files.get(request.path_params["file_id"])
        return JSONResponse(found[0]) if found else _refused(404, "There is no such file.")

    async def _content(self, request: Request) -> Response:
        found = self._files.get(request.path_params["file_id"])
        return Response(found[1], media_type="application/octet-stream") if found else _refused(404, "There is no such file.")

    async def _create(self, request: Request) -> Response:
        wanted: dict[str, Any] = await request.json()
        about, content = self._files.get(wanted.get("input_file_id", ""), ({}, b""))
        if about.get("purpose") != "batch":
            return _refused(400, f"The file {wanted.get('input_file_id')!r} does not exist or is not for a batch.")
        if wanted.get("endpoint") != CHAT or wanted.get("completion_window") != "24h":
            return _refused(400, f"A batch goes to {CHAT} and has 24h.")
        job = Job(f"batch_{len(self._jobs) + 1:06d}", about["id"], wanted.get("metadata") or {}, scope=dict(request.scope))
        job.began = self._clock()
        try:
            job.lines = parse(content)
        except BadBatch as bad:
            job.fail(bad)
        self._jobs[job.id] = job
        self._log.counts.update({"batches": 1, "batch_lines": len(job.lines)})
        return JSONResponse(job.public())

    async def _list(self, request: Request) -> Response:
        newest = list(reversed(self._jobs.values()))
        after, limit = request.query_params.get("after"), int(request.query_params.get("limit", "20"))
        start = next((place + 1 for place, job in enumerate(newest) if job.id == after), 0)
        page = [job.public() for job in newest[start : start + limit]]
        ends = {"first_id": page[0]["id"] if page else None, "last_id": page[-1]["id"] if page else None}
        return JSONResponse({"object": "list", "data": page, "has_more": start + limit < len(newest), **ends})

    async def _look(self, request: Request) -> Response:
        job = self._jobs.get(request.path_params["batch_id"])
        if job is None:
            return _refused(404, "There is no such batch.")
        await self._work(job)
        return JSONResponse(job.public())

    async def _cancel(self, request: Request) -> Response:
        job = self._jobs.get(request.path_params["batch_id"])
        if job is None:
            return _refused(404, "There is no such batch.")
        await self._work(job)
        self._finish(job, "cancelled")
        return JSONResponse(job.public())

    async def _work(self, job: Job) -> None:
        if job.ended or job.worked_on:
            return
        job.worked_on, began = True, time.monotonic()
        try:
            due = job.due(self._profile.batch_delay, now=self._clock())
            while job.done < due and time.monotonic() - began < LONGEST_LOOK:
                await self._do(job.lines[job.done], job)
        finally:
            job.worked_on = False
        if job.done == due == len(job.lines):
            late = any(line.response is None for line in job.lines)
            self._finish(job, "expired" if late else "completed")

    async def _do(self, line: Line, job: Job) -> None:
        request = CapturedRequest({**job.scope, "method": "POST", "path": CHAT, "raw_path": CHAT.encode()}, line.body)
        path = (request.identity, self._log.tried(request.identity))
        if self._profile.strikes("expired", *path):
            self._log.counts["expired"] += 1
        else:
            line.response = await self._respond(request, path)
        job.done += 1

    def _finish(self, job: Job, status: str) -> None:
        if job.ended:
            return
        for kind, content in job.results(status).items():
            if content:
                job.files[kind] = self._keep(content, purpose="batch_output")["id"]
        job.status = status


def _refused(status: int, message: str) -> Response:
    response = error_response(status, message)
    return Response(response.body, status, media_type="application/json")
