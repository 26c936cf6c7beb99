"""The project's own pages beside Dagster's: where to begin, reports, releases, differences, evaluations, studies.

Dagster's metadata links here, because browsers follow no link from a served page to the disk.
"""

import re
import secrets
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from html import unescape
from http import HTTPStatus
from itertools import pairwise
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Receive, Scope, Send

from assets.recipe.loading import RecipeError, load_recipe, variants
from assets.recipe.partitions import BENCHMARK_TAG
from assets.reporting.page_style import NARROW_TABLES, page_address, page_style
from dataset_card.diff.compare import compare_releases, read_compared
from dataset_card.diff.page import diff_page
from dataset_card.diff.records import DiffError
from dataset_card.release.manifest import REPORT_PAGE, ManifestError
from dataset_card.release_store.store import FolderReleaseStore
from pipelines.benchmarks import BENCHMARKS, entry_named, format_of
from pipelines.evaluation.folder import PAGE, RESULTS, runs_folder
from pipelines.evaluation.metrics.results import Results
from pipelines.evaluation.report.formatting import format_estimate
from pipelines.experiments.annotation.folder import STUDY, StudyFolder
from pipelines.experiments.annotation.page import study_app
from pipelines.experiments.annotation.records import AnnotationError
from pipelines.experiments.scoring.leaderboard import LEADERBOARDS_FOLDER
from pipelines.home import Home
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.ui.launchpad import begin_variant, launchpad_address

FOLDER = Path(__file__).parent
# Of our folders, only what a browser shows; rows, keys of studies and databases are not handed out.
SHOWN = {".html", ".css", ".js", ".svg", ".png", ".woff", ".woff2", ".ttf"}
# A page of ours holds texts of models. It may run its script, but not ask Dagster for anything.
SANDBOX = {
    "content-security-policy": "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox allow-downloads",
    "x-content-type-options": "nosniff",
}
TITLE = re.compile(r"<title>([^<]*)</title>")
COMPARED = re.compile(rf"\.\./runs/([^/\"]+)/{re.escape(PAGE)}")  # the links of a leaderboard to its runs
# Only where a page is served there is a first page to go back to; the file itself stays as it is.
HEADER = re.compile(r"<header\b[^>]*>")
BACK = f'<p><a href="{page_address("")}">All pages</a></p>'
NEW_VARIANT = "variants"  # where the form of a new variant is sent
NAMED = 4  # runs of a leaderboard; the others are counted
BENCHMARK_NAMES = tuple(entry.benchmark.name for entry in BENCHMARKS)
Reload = Callable[[], object]
Json = dict[str, Any]


def pages_app(home: Home, *, reload: Reload) -> Starlette:
    """The pages of this installation. `reload` has Dagster read the definitions again."""

    async def index(_: Request) -> Response:
        return HTMLResponse(await run_in_threadpool(index_page, home))

    async def launchpad(request: Request) -> Response:
        return await _launchpad(request.path_params["variant"], home)

    async def new_variant(request: Request) -> Response:
        fields = dict(parse_qsl((await request.body()).decode()))
        name = fields.get("name", "").strip()
        try:
            await run_in_threadpool(begin_variant, name, like=fields.get("like", "").strip())
        except RecipeError as error:
            return HTMLResponse(index_page(home, problem=str(error)), status_code=422)
        await run_in_threadpool(reload)
        return await _launchpad(name, home)

    async def graph(request: Request) -> Response:
        return _graph(request.path_params["benchmark"])

    async def difference(request: Request) -> Response:
        folder = home.releases / request.path_params["variant"]
        before = folder / request.path_params["before"]
        after = folder / request.path_params["after"]
        page = await run_in_threadpool(_difference, before, after)
        return HTMLResponse(HEADER.sub(rf"\g<0>{BACK}", page, count=1), headers=SANDBOX)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        problem = error.detail
        if problem == HTTPStatus(error.status_code).phrase:  # starlette's own, for an address without a page
            problem = f"There is no page {request.url.path}."
        return HTMLResponse(await run_in_threadpool(index_page, home, problem=problem), status_code=error.status_code)

    return Starlette(
        routes=[
            Route("/", index),
            Route(f"/{NEW_VARIANT}", new_variant, methods=["POST"]),
            Route("/launchpad/{variant}", launchpad),
            Route("/graph/{benchmark}", graph),
            Route("/diff/{variant}/{before}/{after}", difference),
            Mount("/annotation/{study}", _study(home.studies)),
            Mount("/reports", _PageFolder(home.reports)),
            Mount("/releases", _PageFolder(home.releases)),
            Mount("/runs", _PageFolder(runs_folder(home))),
            Mount(f"/{LEADERBOARDS_FOLDER}", _PageFolder(home.root / LEADERBOARDS_FOLDER)),
        ],
        exception_handlers={HTTPException: refused},
    )


class _PageFolder(StaticFiles):
    """The pages of a folder that may not be there yet."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder, check_dir=False)

    async def get_response(self, path: str, scope: Scope) -> Response:
        if Path(path).suffix not in SHOWN:
            raise HTTPException(404)
        response = await super().get_response(path, scope)
        if isinstance(response, FileResponse) and Path(path).suffix == ".html":
            page = await run_in_threadpool(Path(response.path).read_text, encoding="utf-8")
            response = HTMLResponse(HEADER.sub(rf"\g<0>{BACK}", page, count=1))
        response.headers.update(SANDBOX)
        return response


def _study(studies: Path) -> ASGIApp:
    """The service of the study that the path names, as `amemgym annotate serve` has it."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            study = StudyFolder.of(scope["path_params"]["study"], studies=studies)
        except AnnotationError as error:
            raise HTTPException(404, str(error)) from error
        await study_app(study)(scope, receive, send)

    return serve


async def _launchpad(variant: str, home: Home) -> Response:
    try:
        address = await run_in_threadpool(launchpad_address, variant, open_asset_values(home))
        return RedirectResponse(address, status_code=303)
    except RecipeError as error:
        raise HTTPException(404, str(error)) from error


def _graph(name: str) -> Response:
    """Dagster's graph of one benchmark with all groups open, from top to bottom, each asset a name in a low box.

    From left to right and with all that Dagster shows of an asset, a chain of sixteen is too wide to be read.
    """
    if name not in BENCHMARK_NAMES:
        raise HTTPException(404, f"There is no benchmark {name!r}; there are {', '.join(BENCHMARK_NAMES)}.")
    benchmark = entry_named(name).benchmark
    groups = ",".join(f"global@global:{benchmark.group(group)}" for group in benchmark.group_names)
    selection = quote(f'tag:"{BENCHMARK_TAG}"="{name}" or key:"{benchmark.key("evaluation")}"', safe="")
    address = f"/asset-groups~{selection}/?{urlencode({'expanded': groups})}"
    nonce = secrets.token_urlsafe(16)
    page = _templates().get_template("graph.html.j2").render(address=address, nonce=nonce)
    return HTMLResponse(page, headers={"content-security-policy": f"default-src 'none'; script-src 'nonce-{nonce}'"})


def _difference(before: Path, after: Path) -> str:
    """Return the page. Raises HTTPException for releases that are not there, or cannot be compared."""
    try:
        return diff_page(compare_releases(read_compared(before), read_compared(after), form=format_of(after)))
    except (DiffError, ManifestError) as error:
        raise HTTPException(422, str(error)) from error
    except OSError as error:
        raise HTTPException(404, f"There is no such release: {error.filename}") from error


def index_page(home: Home, *, problem: str = "") -> str:
    """Return the first page: every variant with its pages, and every evaluation and study."""
    runs: list[tuple[str, str, str]] = []
    for path in _newest_first(runs_folder(home).glob(f"*/{PAGE}")):
        # Score, id and time tell a run from others of its name.
        words = f"{_score(path.parent)}{path.parent.name}, {_made(path)}"
        runs.append((*_link(_title(path), "runs", path.parent.name, PAGE), words))
    boards: list[tuple[str, str, str]] = []
    for path in _newest_first((home.root / LEADERBOARDS_FOLDER).glob("[!.]*.html")):
        boards.append((*_link(_title(path), LEADERBOARDS_FOLDER, path.name), f"{_compared(path)}{_made(path)}"))
    studies: dict[str, list[tuple[str, str]]] = {}
    for path in sorted(home.studies.glob(f"*/{STUDY}")):
        name = path.parent.name
        studies[name] = []
        for sheet in StudyFolder(path.parent).people():
            studies[name].append(_link(sheet.annotator, "annotation", name, sheet.annotator, ""))
    template = _templates().get_template("index.html.j2")
    return template.render(
        style=page_style(NARROW_TABLES),
        problem=problem,
        variants=list(_variants(home)),
        graphs=[_link(name, "graph", name) for name in BENCHMARK_NAMES],
        runs=runs,
        boards=boards,
        studies=studies,
        new_variant=page_address(NEW_VARIANT),
    )


def _title(page: Path) -> str:
    """Return the page's title, which stands near its beginning."""
    with page.open(encoding="utf-8") as file:
        found = TITLE.search(file.read(4000))  # of a page that may have many megabytes
    return unescape(found.group(1)) if found else page.stem


def _newest_first(pages: Iterable[Path]) -> list[Path]:
    return sorted(pages, key=lambda path: (-path.stat().st_mtime, path))


def _score(run: Path) -> str:
    """Return the run's memory score, or its share of right answers, with its interval; "" where none can be read."""
    try:
        metrics = Results.model_validate_json((run / RESULTS).read_bytes()).metrics
    except (OSError, ValueError):
        return ""
    for name in ("memory", "overall"):
        if name in metrics and metrics[name].value is not None:
            return f"{name} {format_estimate(metrics[name])}, "
    return ""


def _made(page: Path) -> str:
    """Return the time at which the page was written."""
    return f"{datetime.fromtimestamp(page.stat().st_mtime, UTC):%Y-%m-%d %H:%M} UTC"


def _compared(board: Path) -> str:
    """Return the runs of a leaderboard, which tell it from others on the same data set."""
    runs = list(dict.fromkeys(COMPARED.findall(board.read_text(encoding="utf-8"))))
    if len(runs) > NAMED:
        runs[NAMED:] = [f"and {len(runs) - NAMED} more"]
    return "".join(f"{name}, " for name in runs)


def _variants(home: Home) -> Iterator[Json]:
    """Yield each variant with its addresses. One whose file cannot be read is there with what is wrong."""
    releases = FolderReleaseStore(home.releases)
    for name in variants():
        versions = releases.versions(name)
        benchmark = problem = ""
        try:
            benchmark = load_recipe(name).benchmark
        except RecipeError as error:
            problem = str(error)
        reports: list[tuple[str, str]] = []
        for version in versions:
            if (home.releases / name / version / REPORT_PAGE).is_file():
                reports.append(_link(version, "releases", name, version, REPORT_PAGE))
        yield {
            "name": name,
            "benchmark": benchmark,
            "problem": problem,
            "launchpad": page_address("launchpad", name),
            "report": page_address("reports", f"{name}.html") if (home.reports / f"{name}.html").is_file() else "",
            "releases": reports,
            "differences": [_link(f"{before} to {after}", "diff", name, before, after) for before, after in pairwise(versions)],
        }


def _link(words: str, *parts: str) -> tuple[str, str]:
    return words, page_address(*parts)


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
