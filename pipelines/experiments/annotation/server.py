"""The annotation page on loopback: one address for each annotator, and every answer on the disk before it is acknowledged."""

import json
from collections.abc import Awaitable, Callable, Mapping

from pydantic import TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from pipelines.experiments.annotation.errors import AnnotationError
from pipelines.experiments.annotation.folder import StudyFolder
from pipelines.experiments.annotation.page import annotation_page
from pipelines.experiments.annotation.records import Answer

GIVEN: TypeAdapter[dict[str, Answer]] = TypeAdapter(dict[str, Answer])
LOOPBACK = ["127.0.0.1", "localhost"]
# No other page may frame this one, and nothing may be read by guessing types or kept in a shared cache.
HEADERS = {"x-frame-options": "DENY", "x-content-type-options": "nosniff", "cache-control": "no-store"}
Handler = Callable[[Request], Awaitable[Response]]


def create_app(folder: StudyFolder) -> Starlette:
    """The service of one study. Requests under another host's name are refused, so that no foreign page can reach it."""
    return Starlette(
        routes=[
            Route("/{annotator}", _told(_with_slash(folder)), methods=["GET"]),
            Route("/{annotator}/", _told(_page(folder)), methods=["GET"]),
            Route("/{annotator}/answers", _told(_answers(folder)), methods=["GET"]),
            Route("/{annotator}/answers", _told(_keep(folder)), methods=["POST"]),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK, www_redirect=False)],
    )


def _told(handle: Handler) -> Handler:
    async def handled(request: Request) -> Response:
        try:
            response = await handle(request)
        except AnnotationError as error:
            response = JSONResponse({"error": str(error)}, status_code=422)
        response.headers.update(HEADERS)
        return response

    return handled


def _with_slash(folder: StudyFolder) -> Handler:
    async def handle(request: Request) -> Response:
        return RedirectResponse(f"/{folder.sheet(_name(request)).annotator}/")

    return handle


def _page(folder: StudyFolder) -> Handler:
    async def handle(request: Request) -> Response:
        return HTMLResponse(annotation_page(folder.study(), folder.sheet(_name(request))))

    return handle


def _answers(folder: StudyFolder) -> Handler:
    async def handle(request: Request) -> Response:
        sheet = folder.sheet(_name(request))
        return JSONResponse({"answers": {item: answer.model_dump() for item, answer in sheet.answers.items()}})

    return handle


def _keep(folder: StudyFolder) -> Handler:
    async def handle(request: Request) -> Response:
        # A form of a foreign page cannot send this type without asking first, which is never allowed.
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return JSONResponse({"error": "Answers are sent as application/json."}, status_code=415)
        given = _given(await request.body())
        sheet = folder.sheet(_name(request))
        if sheet.kind != "person":
            raise AnnotationError(f"The sheet of {sheet.annotator!r} was filled in by a model; nobody else writes in it.")
        # Nothing is awaited from reading the sheet to writing it, so that no answer of another request is lost.
        return JSONResponse({"saved": len(folder.put(sheet, dict(given)).answers)})

    return handle


def _given(body: bytes) -> Mapping[str, Answer]:
    try:
        return GIVEN.validate_python(json.loads(body))
    except (ValidationError, ValueError) as error:
        raise AnnotationError("The answers cannot be read; reload the page.") from error


def _name(request: Request) -> str:
    return str(request.path_params["annotator"])
