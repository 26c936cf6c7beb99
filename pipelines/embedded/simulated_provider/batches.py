"""The Batch API of the simulated provider: files, batch jobs that take their time, and their output."""

import email
import email.policy
import time
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from pipelines.embedded.simulated_provider.exchange import CHAT, Answer, Asked, ask, error_answer, tell
from pipelines.embedded.simulated_provider.fault_profile import Log, Weather
from pipelines.embedded.simulated_provider.jobs import BadBatch, Job, Line, parse

LONGEST_LOOK = 0.25  # seconds of work done while a client looks at its job
AnswerLine = Callable[[Asked, tuple[str, int]], Awaitable[Answer]]


class Batches:
    """An ASGI app. It works when someone looks: a look at a job first does the lines that are due by then.

    So it needs no task in the background, and serves any number of event loops one after another.
    """

    def __init__(self, app: ASGIApp, weather: Weather, *, log: Log, answer_line: AnswerLine) -> None:
        self._app, self._weather, self._log, self._answer_line = app, weather, log, answer_line
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
        models = Asked({**scope, "method": "GET", "path": "/v1/models", "raw_path": b"/v1/models"}, b"")
        permitted = await ask(self._app, models)
        if permitted.status != 200:
            await tell(permitted, send)
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
            due = job.due(self._weather.batch_delay)
            while job.done < due and time.monotonic() - began < LONGEST_LOOK:
                await self._do(job.lines[job.done], job)
        finally:
            job.worked_on = False
        if job.done == len(job.lines) and job.due(self._weather.batch_delay) == len(job.lines):
            late = any(line.answer is None for line in job.lines)
            self._finish(job, "expired" if late else "completed")

    async def _do(self, line: Line, job: Job) -> None:
        asked = Asked({**job.scope, "method": "POST", "path": CHAT, "raw_path": CHAT.encode()}, line.body)
        path = (asked.identity, self._log.tried(asked.identity))
        if self._weather.brings("expired", *path):
            self._log.counts["expired"] += 1
        else:
            line.answer = await self._answer_line(asked, path)
        job.done += 1

    def _finish(self, job: Job, status: str) -> None:
        if job.ended:
            return
        for kind, content in job.results(status).items():
            if content:
                job.files[kind] = self._keep(content, purpose="batch_output")["id"]
        job.status = status


def _refused(status: int, message: str) -> Response:
    answer = error_answer(status, message)
    return Response(answer.body, status, media_type="application/json")
