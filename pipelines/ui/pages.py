"""The addresses of the project's own pages beside Dagster's: the first page, reports, releases, differences, evaluations.

Dagster's metadata links to these pages, because browsers do not follow links from a served page to local files.
"""

import re
import secrets
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from assets.recipe.partitions import BENCHMARK_TAG
from assets.recipe.recipe import RecipeError
from assets.reporting.page_style import page_address
from dataset_card.diff.compare import compare_releases, read_compared
from dataset_card.diff.page import diff_page
from dataset_card.diff.records import DiffError
from dataset_card.release.manifest import ManifestError
from pipelines.benchmarks import BENCHMARKS, format_of
from pipelines.evaluation.folder import runs_folder
from pipelines.experiments.scoring.leaderboard import LEADERBOARDS_FOLDER
from pipelines.home import Home
from pipelines.resources.storage.io_manager import open_asset_values
from pipelines.ui.first_page import NEW_VARIANT, find_last_runs, index_page, page_templates
from pipelines.ui.launchpad import begin_variant, launchpad_address

# Only files that a browser displays are served from our folders; rows and databases are not.
SHOWN = {".html", ".css", ".js", ".svg", ".png", ".woff", ".woff2", ".ttf"}
# Our pages contain text written by models. They may run scripts, but may not send requests to Dagster.
SANDBOX = {
    "content-security-policy": "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox allow-downloads",
    "x-content-type-options": "nosniff",
}
# The link back is added to the served page only, because a file opened from disk has no first page to go back to.
HEADER = re.compile(r"<header\b[^>]*>")
BACK = f'<p><a href="{page_address("")}">All pages</a></p>'


def pages_app(home: Home, *, reload: Callable[[], object]) -> Starlette:
    """Return the web application with this installation's pages. `reload` makes Dagster load the definitions again."""

    async def index(_: Request) -> Response:
        page = await run_in_threadpool(lambda: index_page(home, last_runs=find_last_runs()))
        return HTMLResponse(page)

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

    async def refuse_request(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        problem = error.detail
        if problem == HTTPStatus(error.status_code).phrase:  # starlette's default text for an unknown address
            problem = f"There is no page {request.url.path}."
        return HTMLResponse(await run_in_threadpool(index_page, home, problem=problem), status_code=error.status_code)

    return Starlette(
        routes=[
            Route("/", index),
            Route(f"/{NEW_VARIANT}", new_variant, methods=["POST"]),
            Route("/launchpad/{variant}", launchpad),
            Route("/graph/{benchmark}", graph),
            Route("/diff/{variant}/{before}/{after}", difference),
            Mount("/reports", _PageFolder(home.reports)),
            Mount("/releases", _PageFolder(home.releases)),
            Mount("/runs", _PageFolder(runs_folder(home))),
            Mount(f"/{LEADERBOARDS_FOLDER}", _PageFolder(home.root / LEADERBOARDS_FOLDER)),
        ],
        exception_handlers={HTTPException: refuse_request},
    )


class _PageFolder(StaticFiles):
    """Serves the pages of a folder that may not exist yet."""

    def __init__(self, folder: Path) -> None:
        super().__init__(directory=folder, check_dir=False)

    async def check_config(self) -> None:
        """Skip starlette's check, which fails at the first request when the folder does not exist."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        if Path(path).suffix not in SHOWN:
            raise HTTPException(404)
        response = await super().get_response(path, scope)
        if isinstance(response, FileResponse) and Path(path).suffix == ".html":
            page = await run_in_threadpool(Path(response.path).read_text, encoding="utf-8")
            response = HTMLResponse(HEADER.sub(rf"\g<0>{BACK}", page, count=1))
        response.headers.update(SANDBOX)
        return response


async def _launchpad(variant: str, home: Home) -> Response:
    try:
        address = await run_in_threadpool(launchpad_address, variant, open_asset_values(home))
        return RedirectResponse(address, status_code=303)
    except RecipeError as error:
        raise HTTPException(404, str(error)) from error


def _graph(name: str) -> Response:
    """Redirect to Dagster's graph of one benchmark: all groups open, status and kinds on each asset.

    The graph runs from top to bottom, because sixteen assets side by side are too wide to read.
    """
    if name not in BENCHMARKS:
        raise HTTPException(404, f"There is no benchmark {name!r}; there are {', '.join(BENCHMARKS)}.")
    benchmark = BENCHMARKS[name].benchmark
    groups = ",".join(f"global@global:{benchmark.group(group)}" for group in benchmark.group_names)
    selection = quote(f'tag:"{BENCHMARK_TAG}"="{name}" or key:"{benchmark.asset_path("evaluation")}"', safe="")
    address = f"/asset-groups~{selection}/?{urlencode({'expanded': groups})}"
    nonce = secrets.token_urlsafe(16)
    page = page_templates().get_template("graph.html.j2").render(address=address, nonce=nonce)
    return HTMLResponse(page, headers={"content-security-policy": f"default-src 'none'; script-src 'nonce-{nonce}'"})


def _difference(before: Path, after: Path) -> str:
    """Return the page that compares two releases. Raises HTTPException if one is missing, or if they cannot be compared."""
    try:
        return diff_page(compare_releases(read_compared(before), read_compared(after), form=format_of(after)))
    except (DiffError, ManifestError) as error:
        raise HTTPException(422, str(error)) from error
    except OSError as error:
        raise HTTPException(404, f"There is no such release: {error.filename}") from error
