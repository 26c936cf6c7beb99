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
from urllib.parse import parse_qs, quote, urlencode, urlsplit

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
from dataset_card.diff.compare import DiffError, compare, read_release
from dataset_card.diff.page import diff_page
from dataset_card.release.manifest import REPORT_PAGE, ManifestError
from dataset_card.release.store import FolderReleaseStore
from pipelines.benchmarks import BENCHMARKS, format_of
from pipelines.evaluation.folder import PAGE, RESULTS, runs_folder
from pipelines.evaluation.metrics.results import Results
from pipelines.evaluation.report.formatting import format_estimate
from pipelines.experiments.annotation.folder import STUDY, StudyFolder
from pipelines.experiments.annotation.page import create_app
from pipelines.experiments.annotation.records import AnnotationError
from pipelines.experiments.leaderboard import LEADERBOARDS_FOLDER
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
        _expect_own_form(request)
        fields = {name: values[-1].strip() for name, values in parse_qs((await request.body()).decode()).items()}
        name = fields.get("name", "")
        try:
            await run_in_threadpool(begin_variant, name, like=fields.get("like", ""))
        except RecipeError as error:
            return HTMLResponse(index_page(home, problem=str(error)), status_code=422)
        await run_in_threadpool(reload)
        return await _launchpad(name, home)

    async def graph(request: Request) -> Response:
        return _graph(request.path_params["benchmark"])

    async def difference(request: Request) -> Response:
        variant, before, after = (request.path_params[name] for name in ("variant", "before", "after"))
        page = await run_in_threadpool(_difference, [home.releases / variant / version for version in (before, after)])
        return HTMLResponse(HEADER.sub(rf"\g<0>{BACK}", page, count=1), headers=SANDBOX)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        told = error.detail if error.detail != HTTPStatus(error.status_code).phrase else f"There is no page {request.url.path}."
        return HTMLResponse(await run_in_threadpool(index_page, home, problem=told), status_code=error.status_code)

    folders = {
        "reports": home.reports,
        "releases": home.releases,
        "runs": runs_folder(home),
        LEADERBOARDS_FOLDER: home.root / LEADERBOARDS_FOLDER,
    }
    return Starlette(
        routes=[
            Route("/", index),
            Route("/variants", new_variant, methods=["POST"]),
            Route("/launchpad/{variant}", launchpad),
            Route("/graph/{benchmark}", graph),
            Route("/diff/{variant}/{before}/{after}", difference),
            Mount("/annotation/{study}", _study(home.studies)),
            *(Mount(f"/{name}", _Shelf(folder)) for name, folder in folders.items()),
        ],
        exception_handlers={HTTPException: refused},
    )


class _Shelf(StaticFiles):
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
        await create_app(study)(scope, receive, send)

    return serve


def _expect_own_form(request: Request) -> None:
    """Refuse what another site's page sends. Raises HTTPException."""
    origin = request.headers.get("origin", "")
    if urlsplit(origin).netloc != request.headers.get("host"):
        raise HTTPException(403, "Variants are begun from this server's own page.")


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
    benchmark = next((entry.benchmark for entry in BENCHMARKS if entry.benchmark.name == name), None)
    if benchmark is None:
        raise HTTPException(404, f"There is no benchmark {name!r}; there are {', '.join(BENCHMARK_NAMES)}.")
    groups = ",".join(f"global@global:{one}" for one in map(benchmark.group, benchmark.group_names))
    selection = quote(f'tag:"{BENCHMARK_TAG}"="{name}" or key:"{benchmark.key("evaluation")}"', safe="")
    address = f"/asset-groups~{selection}/?{urlencode({'expanded': groups})}"
    nonce = secrets.token_urlsafe(16)
    page = _templates().get_template("graph.html.j2").render(address=address, nonce=nonce)
    return HTMLResponse(page, headers={"content-security-policy": f"default-src 'none'; script-src 'nonce-{nonce}'"})


def _difference(folders: list[Path]) -> str:
    """Raises HTTPException for releases that are not there, or cannot be compared."""
    try:
        before, after = map(read_release, folders)
        return diff_page(compare(before, after, form=format_of(after.folder)))
    except (DiffError, ManifestError) as error:
        raise HTTPException(422, str(error)) from error
    except OSError as error:
        raise HTTPException(404, f"There is no such release: {error.filename}") from error


def index_page(home: Home, *, problem: str = "") -> str:
    """Where to begin: every variant with what there is of it, and every evaluation and study."""
    runs, boards = runs_folder(home), home.root / LEADERBOARDS_FOLDER
    studies = [StudyFolder(path.parent) for path in sorted(home.studies.glob(f"*/{STUDY}"))]
    return (
        _templates()
        .get_template("index.html.j2")
        .render(
            style=page_style(NARROW_TABLES),
            problem=problem,
            variants=list(_variants(home)),
            graphs=[_link(name, "graph", name) for name in BENCHMARK_NAMES],
            runs=[
                (*_link(_title(path), "runs", path.parent.name, PAGE), _run_words(path))
                for path in _newest_first(runs.glob(f"*/{PAGE}"))
            ],
            boards=[
                (*_link(_title(path), LEADERBOARDS_FOLDER, path.name), f"{_compared(path)}{_made(path)}")
                for path in _newest_first(boards.glob("[!.]*.html"))
            ],
            studies={study.path.name: _people(study) for study in studies},
            new_variant=page_address("variants"),
        )
    )


def _title(page: Path) -> str:
    """What the page says that it is, which stands near its beginning."""
    with page.open(encoding="utf-8") as file:
        found = TITLE.search(file.read(4000))
    return unescape(found.group(1)) if found else page.stem


def _newest_first(pages: Iterable[Path]) -> list[Path]:
    return sorted(pages, key=lambda path: (-path.stat().st_mtime, path))


def _run_words(page: Path) -> str:
    """What tells a run from others of its name: score, id, and when it was made."""
    return f"{_score(page.parent)}{page.parent.name}, {_made(page)}"


def _score(run: Path) -> str:
    """The run's memory score, or its share of right answers, with its interval; "" where it has none that can be read."""
    try:
        metrics = Results.model_validate_json((run / RESULTS).read_bytes()).metrics
    except (OSError, ValueError):
        return ""
    scores = ((name, metrics[name]) for name in ("memory", "overall") if name in metrics)
    return next((f"{name} {format_estimate(score)}, " for name, score in scores if score.value is not None), "")


def _made(page: Path) -> str:
    """When the page was written."""
    return f"{datetime.fromtimestamp(page.stat().st_mtime, UTC):%Y-%m-%d %H:%M} UTC"


def _compared(board: Path) -> str:
    """The runs of a leaderboard, which tell it from others on the same data set."""
    runs = list(dict.fromkeys(COMPARED.findall(board.read_text(encoding="utf-8"))))
    more = [f"and {len(runs) - NAMED} more"] if len(runs) > NAMED else []
    return "".join(f"{name}, " for name in [*runs[:NAMED], *more])


def _people(study: StudyFolder) -> list[tuple[str, str]]:
    """The pages of a study's annotators."""
    people = (sheet.annotator for sheet in study.sheets() if sheet.kind == "person")
    return [_link(name, "annotation", study.path.name, name, "") for name in people]


def _variants(home: Home) -> Iterator[Json]:
    """Each variant with its addresses. One whose file cannot be read is there with what is wrong."""
    releases = FolderReleaseStore(home.releases)
    for name in variants():
        versions = releases.versions(name)
        try:
            benchmark, problem = load_recipe(name).benchmark, ""
        except RecipeError as error:
            benchmark, problem = "", str(error)
        pages = [(version, home.releases / name / version / REPORT_PAGE) for version in versions]
        yield {
            "name": name,
            "benchmark": benchmark,
            "problem": problem,
            "launchpad": page_address("launchpad", name),
            "report": page_address("reports", f"{name}.html") if (home.reports / f"{name}.html").is_file() else "",
            "releases": [_link(version, "releases", name, version, REPORT_PAGE) for version, page in pages if page.is_file()],
            "differences": [_link(f"{before} to {after}", "diff", name, before, after) for before, after in pairwise(versions)],
        }


def _link(words: str, *parts: str) -> tuple[str, str]:
    return words, page_address(*parts)


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
