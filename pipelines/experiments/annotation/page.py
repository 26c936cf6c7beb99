"""The page of one annotator, as a file or served on loopback; a server acknowledges an answer when it is on the disk."""

import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import TypeAdapter, ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from assets.records.json_text import parse_json
from assets.reporting.page_style import page_style
from pipelines.evaluation.report.page import embedded
from pipelines.experiments.annotation.folder import StudyFolder
from pipelines.experiments.annotation.records import AnnotationError, AnswerSheet, ItemAnswer, Study
from pipelines.experiments.annotation.study import items_for
from pipelines.experiments.annotation.units import guide

FILES = Path(__file__).parent / "page_files"
SCRIPTS = ("keep", "show")


def annotation_page(study: Study, sheet: AnswerSheet) -> str:
    """A file that works from a server and from a disk alike. It holds no key, no label, no source, and no answer."""
    title = str(guide(study.kind)["title"])
    data = {
        "title": title,
        "task": str(guide(study.kind)["task"]),
        "annotator": sheet.annotator,
        "study_digest": sheet.study_digest,
        "sheet": sheet.model_dump(mode="json", exclude={"answers"}),
        "tasks": [task.model_dump(mode="json") for task in items_for(study, sheet)],
    }
    style, script = _files()
    return (
        _templates()
        .get_template("page.html")
        .render(
            title=title,
            data=embedded(data),
            style=style,
            style_hash=_hash(style),
            script=script,
            script_hash=_hash(script),
        )
    )


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


@cache
def _files() -> tuple[str, str]:
    scripts = [(FILES / f"{name}.js").read_text(encoding="utf-8") for name in SCRIPTS]
    return page_style(FILES / "page.css"), "\n".join(scripts)


@cache
def _templates() -> Environment:
    # JSON, style and script are escaped or ours; the title is escaped by the template.
    return Environment(loader=FileSystemLoader(FILES), undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)


ITEM_ANSWERS: TypeAdapter[dict[str, ItemAnswer]] = TypeAdapter(dict[str, ItemAnswer])
LOOPBACK = ["127.0.0.1", "localhost"]
# No other page may frame this one, and browsers may not guess content types, and no cache may store it.
HEADERS = {"x-frame-options": "DENY", "x-content-type-options": "nosniff", "cache-control": "no-store"}
Handler = Callable[[Request], Awaitable[Response]]


def create_app(folder: StudyFolder) -> Starlette:
    """The service of one study. Requests under another host's name are refused, so that no foreign page can reach it."""
    return Starlette(
        routes=[
            Route("/{annotator}", _with_headers(_with_slash(folder)), methods=["GET"]),
            Route("/{annotator}/", _with_headers(_page(folder)), methods=["GET"]),
            Route("/{annotator}/answers", _with_headers(_answers(folder)), methods=["GET"]),
            Route("/{annotator}/answers", _with_headers(_save_answers(folder)), methods=["POST"]),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=LOOPBACK, www_redirect=False)],
    )


def _with_headers(handle: Handler) -> Handler:
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
        root = request.scope.get("root_path", "")  # under which `amemgym ui` serves it
        return RedirectResponse(f"{root}/{folder.sheet(_name(request)).annotator}/")

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


def _save_answers(folder: StudyFolder) -> Handler:
    async def handle(request: Request) -> Response:
        # A form of a foreign page cannot send this type without asking first, which is never allowed.
        if request.headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return JSONResponse({"error": "Answers are sent as application/json."}, status_code=415)
        answers = _parse_answers(await request.body())
        sheet = folder.sheet(_name(request))
        if sheet.kind != "person":
            raise AnnotationError(f"The sheet of {sheet.annotator!r} was filled in by a model; nobody else writes in it.")
        # Nothing is awaited from reading the sheet to writing it, so that no answer of another request is lost.
        return JSONResponse({"saved": len(folder.put(sheet, dict(answers)).answers)})

    return handle


def _parse_answers(body: bytes) -> Mapping[str, ItemAnswer]:
    try:
        return ITEM_ANSWERS.validate_python(parse_json(body))
    except (ValidationError, ValueError) as error:
        raise AnnotationError("The answers cannot be read; reload the page.") from error


def _name(request: Request) -> str:
    return str(request.path_params["annotator"])
