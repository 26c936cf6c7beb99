"""The page of one annotator, as a file or served on loopback; a server acknowledges an answer when it is on the disk."""

import base64
import hashlib
from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import TypeAdapter, ValidationError
from starlette.applications import Starlette
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
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"  # as the page's own policy names it


@cache
def _files() -> tuple[str, str]:
    keep = (FILES / "keep.js").read_text(encoding="utf-8")
    show = (FILES / "show.js").read_text(encoding="utf-8")
    return page_style(FILES / "page.css"), f"{keep}\n{show}"


@cache
def _templates() -> Environment:
    # JSON, style and script are escaped or ours; the title is escaped by the template.
    return Environment(loader=FileSystemLoader(FILES), undefined=StrictUndefined, autoescape=False, keep_trailing_newline=True)


ITEM_ANSWERS: TypeAdapter[dict[str, ItemAnswer]] = TypeAdapter(dict[str, ItemAnswer])
# Browsers may not guess content types, and no cache may store a page.
HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
Handler = Callable[[Request], Awaitable[Response]]


def study_app(folder: StudyFolder) -> Starlette:
    """The service of one study. Whoever serves it guards it: see pipelines/ui/request_guard.py."""

    async def add_slash(request: Request) -> Response:
        root = request.scope.get("root_path", "")  # under which `amemgym ui` serves it
        return RedirectResponse(f"{root}/{sheet_of(request).annotator}/")

    async def show_page(request: Request) -> Response:
        return HTMLResponse(annotation_page(folder.study(), sheet_of(request)))

    async def give_answers(request: Request) -> Response:
        return JSONResponse(sheet_of(request).model_dump(include={"answers"}))

    async def save_answers(request: Request) -> Response:
        answers = _parse_answers(await request.body())
        sheet = sheet_of(request)
        if sheet.kind != "person":
            raise AnnotationError(f"The sheet of {sheet.annotator!r} was filled in by a model; nobody else writes in it.")
        # Nothing is awaited from reading the sheet to writing it, so that no answer of another request is lost.
        return JSONResponse({"saved": len(folder.put(sheet, dict(answers)).answers)})

    def sheet_of(request: Request) -> AnswerSheet:
        return folder.sheet(str(request.path_params["annotator"]))

    return Starlette(
        routes=[
            Route("/{annotator}", _with_headers(add_slash), methods=["GET"]),
            Route("/{annotator}/", _with_headers(show_page), methods=["GET"]),
            Route("/{annotator}/answers", _with_headers(give_answers), methods=["GET"]),
            Route("/{annotator}/answers", _with_headers(save_answers), methods=["POST"]),
        ]
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


def _parse_answers(body: bytes) -> Mapping[str, ItemAnswer]:
    try:
        return ITEM_ANSWERS.validate_python(parse_json(body))
    except (ValidationError, ValueError) as error:
        raise AnnotationError("The answers cannot be read; reload the page.") from error
