"""The project's own pages beside Dagster's: the first page, reports, releases, differences, evaluations.

Dagster's metadata links to these pages, because browsers do not follow links from a served page to local files.
"""

import os
import re
import secrets
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, partial
from html import unescape
from http import HTTPStatus
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

import dagster as dg
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import TypeAdapter
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from assets.engine.provenance import ReportValue
from assets.recipe.loading import RecipeError, load_recipe, variants
from assets.recipe.partitions import BENCHMARK_TAG, PARTITION_TAG
from assets.records.estimate import Estimate
from assets.reporting.page_style import NARROW_TABLES, page_address, page_style
from assets.reporting.plurals import counted
from assets.reporting.verdict import Verdict, verdict_on
from dataset_card.diff.compare import compare_releases, read_compared
from dataset_card.diff.page import diff_page
from dataset_card.diff.records import DiffError
from dataset_card.release.manifest import REPORT_PAGE, ManifestError, read_manifest
from dataset_card.release_store.store import FolderReleaseStore
from pipelines.benchmarks import BENCHMARKS, benchmark_of, format_of
from pipelines.errors import Problem
from pipelines.evaluation.folder import MANIFEST, PAGE, RESULTS, runs_folder
from pipelines.evaluation.metrics.results import Results
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.report.formatting import loss_mark
from pipelines.evaluation.report.numbers import format_estimate
from pipelines.experiments.scoring.leaderboard import LEADERBOARDS_FOLDER
from pipelines.home import Home
from pipelines.jobs import Phase
from pipelines.opening.out_of_date import OutOfDate, phases_of
from pipelines.resources.storage.io_manager import AssetValueIOManager, open_asset_values
from pipelines.ui.launchpad import begin_variant, launchpad_address

FOLDER = Path(__file__).parent
# Only files that a browser displays are served from our folders; rows and databases are not.
SHOWN = {".html", ".css", ".js", ".svg", ".png", ".woff", ".woff2", ".ttf"}
# Our pages contain text written by models. They may run scripts, but may not send requests to Dagster.
SANDBOX = {
    "content-security-policy": "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox allow-downloads",
    "x-content-type-options": "nosniff",
}
REFERENCES = ("none", "full-history")  # memory kinds that keep nothing or everything; they do not compete
TITLE = re.compile(r"<title>([^<]*)</title>")
COMPARED = re.compile(rf"\.\./runs/([^/\"]+)/{re.escape(PAGE)}")  # a leaderboard's links to its runs
# The link back is added to the served page only, because a file opened from disk has no first page to go back to.
HEADER = re.compile(r"<header\b[^>]*>")
BACK = f'<p><a href="{page_address("")}">All pages</a></p>'
NEW_VARIANT = "variants"  # path that receives the form of a new variant
MAKE = "make"  # path that receives the form of a variant whose outdated assets are to be made
NAMED = 4  # runs of a leaderboard that are named; the rest are only counted
BENCHMARK_NAMES = tuple(BENCHMARKS)
Reload = Callable[[], object]
Launch = Callable[[Phase], Awaitable[str]]
FOUND = TypeAdapter(dict[str, list[OutOfDate]])
Json = dict[str, Any]


def pages_app(home: Home, *, reload: Reload, launch: Launch) -> Starlette:
    """Return the web application with this installation's pages.

    `reload` makes Dagster load the definitions again. `launch` launches a run and returns its id; it raises Problem.
    """

    async def index(_: Request) -> Response:
        page = await run_in_threadpool(lambda: index_page(home, last_runs=_last_runs()))
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
            Route("/status/{variant}", _status),
            Route(f"/{MAKE}", partial(_make, launch=launch), methods=["POST"]),
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


async def _status(request: Request) -> Response:
    """Show what is out of date of a variant."""
    variant = request.path_params["variant"]
    found = await run_in_threadpool(_out_of_date, variant)
    page = (
        _templates()
        .get_template("status.html.j2")
        .render(style=page_style(NARROW_TABLES), variant=variant, found=found, make=page_address(MAKE), back=page_address(""))
    )
    return HTMLResponse(page)


async def _make(request: Request, *, launch: Launch) -> Response:
    """Launch the run that makes what is out of date of the variant of a form, and go to its page."""
    variant = dict(parse_qsl((await request.body()).decode())).get("variant", "")
    found = await run_in_threadpool(_out_of_date, variant)
    phases = [*phases_of(found, benchmark_of(load_recipe(variant)), variant)] if found else []
    try:
        if len(phases) > 1:
            raise Problem(f"{variant} takes several runs; make it with: amemgym status {variant} --make")
        address = f"/runs/{await launch(phases[0])}" if phases else page_address("status", variant)
    except Problem as problem:
        raise HTTPException(422, str(problem)) from problem
    return RedirectResponse(address, status_code=303)


def _out_of_date(variant: str) -> list[OutOfDate]:
    """Return what is out of date of a variant. Raises HTTPException with the sentence of what cannot be looked at.

    A process of its own looks: this one has the prompts and the code of the time when it was started.
    """
    command = [sys.executable, "-m", "pipelines", "status", "--json", "--", variant]
    looked = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 (no shell)
    if looked.returncode:
        raise HTTPException(422, looked.stderr.strip().removeprefix("amemgym: "))
    return FOUND.validate_json(looked.stdout)[variant]


def _graph(name: str) -> Response:
    """Redirect to Dagster's graph of one benchmark: all groups open, status and kinds on each asset.

    The graph runs from top to bottom, because sixteen assets side by side are too wide to read.
    """
    if name not in BENCHMARK_NAMES:
        raise HTTPException(404, f"There is no benchmark {name!r}; there are {', '.join(BENCHMARK_NAMES)}.")
    benchmark = BENCHMARKS[name].benchmark
    groups = ",".join(f"global@global:{benchmark.group(group)}" for group in benchmark.group_names)
    selection = quote(f'tag:"{BENCHMARK_TAG}"="{name}" or key:"{benchmark.asset_path("evaluation")}"', safe="")
    address = f"/asset-groups~{selection}/?{urlencode({'expanded': groups})}"
    nonce = secrets.token_urlsafe(16)
    page = _templates().get_template("graph.html.j2").render(address=address, nonce=nonce)
    return HTMLResponse(page, headers={"content-security-policy": f"default-src 'none'; script-src 'nonce-{nonce}'"})


def _difference(before: Path, after: Path) -> str:
    """Return the page that compares two releases. Raises HTTPException if one is missing, or if they cannot be compared."""
    try:
        return diff_page(compare_releases(read_compared(before), read_compared(after), form=format_of(after)))
    except (DiffError, ManifestError) as error:
        raise HTTPException(422, str(error)) from error
    except OSError as error:
        raise HTTPException(404, f"There is no such release: {error.filename}") from error


@dataclass(frozen=True)
class _Run:
    """An evaluation's page, with its memory and score if they can be read. `dataset` is the variant and the version."""

    page: Path
    dataset: str = ""
    memory: str = ""
    kind: str = ""
    metric: str = ""
    score: Estimate | None = None
    mark: str = ""

    @property
    def folder(self) -> Path:
        return self.page.parent

    @property
    def score_text(self) -> str:
        """The metric's name and the score with its interval; empty without a score."""
        return f"{self.metric} {format_estimate(self.score)}{self.mark}" if self.score else ""

    @classmethod
    def of(cls, page: Path) -> "_Run":
        """Read the run of a page. Its score is the memory score, or else the share of right answers."""
        try:
            results = Results.model_validate_json((page.parent / RESULTS).read_bytes())
            manifest = RunManifest.model_validate_json((page.parent / MANIFEST).read_bytes())
        except (OSError, ValueError):
            return cls(page)
        for name in ("memory", "overall"):
            score = results.metrics.get(name)
            if score is not None and score.value is not None:
                memory = manifest.memory
                return cls(page, manifest.dataset, memory.name, memory.kind, name, score, loss_mark(results))
        return cls(page, manifest.dataset)


def index_page(home: Home, *, problem: str = "", last_runs: Mapping[str, dg.RunRecord] | None = None) -> str:
    """Return the first page: every variant with its results, and every evaluation.

    `last_runs`: Dagster's last run of each variant.
    """
    evaluations = [_Run.of(path) for path in _newest_first(runs_folder(home).glob(f"*/{PAGE}"))]
    runs: list[tuple[str, str, str]] = []
    for run in evaluations:
        # Runs may have the same title; score, id and time tell them apart.
        score = f"{run.score_text}, " if run.score else ""
        runs.append(
            (*_link(_title(run.page), "runs", run.folder.name, PAGE), f"{score}{run.folder.name}, {_made_at(run.page)}")
        )
    boards: list[tuple[str, str, str]] = []
    for path in _newest_first((home.root / LEADERBOARDS_FOLDER).glob("[!.]*.html")):
        boards.append((*_link(_title(path), LEADERBOARDS_FOLDER, path.name), f"{_compared_runs(path)}{_made_at(path)}"))
    made: list[Json] = []
    waiting: list[Json] = []
    for variant in _variants(home, evaluations, last_runs or {}):
        begun = any(variant[key] for key in ("problem", "report", "releases", "last_run"))
        (made if begun else waiting).append(variant)
    template = _templates().get_template("index.html.j2")
    return template.render(
        style=page_style(NARROW_TABLES),
        problem=problem,
        made=made,
        waiting=waiting,
        graphs=[_link(name, "graph", name) for name in BENCHMARK_NAMES],
        runs=runs,
        boards=boards,
        new_variant=page_address(NEW_VARIANT),
    )


def _title(page: Path) -> str:
    """Return the title of a page, or the name of its file."""
    with page.open(encoding="utf-8") as file:
        found = TITLE.search(file.read(4000))  # the title comes early, and a page may have many megabytes
    return unescape(found.group(1)) if found else page.stem


def _newest_first(pages: Iterable[Path]) -> list[Path]:
    return sorted(pages, key=lambda path: (-path.stat().st_mtime, path))


def _made_at(page: Path) -> str:
    """Return the time when the page was written."""
    return f"{datetime.fromtimestamp(page.stat().st_mtime, UTC):%Y-%m-%d %H:%M} UTC"


def _compared_runs(board: Path) -> str:
    """Return the names of a leaderboard's runs, which distinguish it from other leaderboards on the same data set."""
    runs = list(dict.fromkeys(COMPARED.findall(board.read_text(encoding="utf-8"))))
    if len(runs) > NAMED:
        runs[NAMED:] = [f"and {len(runs) - NAMED} more"]
    return "".join(f"{name}, " for name in runs)


def _last_runs() -> dict[str, dg.RunRecord]:
    """Return Dagster's last run of each variant; empty if this process has no Dagster home."""
    found: dict[str, dg.RunRecord] = {}
    if "DAGSTER_HOME" in os.environ:
        with dg.DagsterInstance.get() as instance:
            for name in variants():
                of_variant = dg.RunsFilter(tags={PARTITION_TAG: name})
                for record in instance.get_run_records(filters=of_variant, limit=1):
                    found[name] = record
    return found


def _variants(home: Home, evaluations: Iterable[_Run], last_runs: Mapping[str, dg.RunRecord]) -> Iterator[Json]:
    """Yield each variant with its results. A variant whose recipe cannot be read has its problem instead."""
    releases = FolderReleaseStore(home.releases)
    values = open_asset_values(home)
    for name in variants():
        versions = releases.versions(name)
        benchmark = problem = ""
        try:
            benchmark = load_recipe(name).benchmark
        except RecipeError as error:
            problem = str(error)
        pages: list[tuple[str, str]] = []
        for version in versions:
            if (home.releases / name / version / REPORT_PAGE).is_file():
                pages.append(_link(version, "releases", name, version, REPORT_PAGE))
        report = home.reports / f"{name}.html"
        yield {
            "name": name,
            "benchmark": benchmark,
            "problem": problem,
            "launchpad": page_address("launchpad", name),
            "status": page_address("status", name),
            "report": page_address("reports", report.name) if report.is_file() else "",
            "verdict": _verdict(values, name, benchmark),
            "releases": pages[::-1],
            "differences": [_link(f"{before} to {after}", "diff", name, before, after) for before, after in pairwise(versions)],
            "best": _best(evaluations, f"{name} {versions[-1]}") if versions else None,
            "last_run": _last_run(last_runs[name]) if name in last_runs else None,
            **(_size(home.releases / name / versions[-1], benchmark) if versions and benchmark else {"size": "", "cost": ""}),
        }


def _verdict(values: AssetValueIOManager, variant: str, benchmark: str) -> Verdict | None:
    """Return the verdict on what was made last; None if there is no report, or none that can be read."""
    try:
        value = values.find(BENCHMARKS[benchmark].benchmark.key("quality_report"), variant) if benchmark else None
    except OSError:
        return None
    return verdict_on(value.report) if isinstance(value, ReportValue) else None


def _size(release: Path, benchmark: str) -> dict[str, str]:
    """Return a release's item count and cost as text; both are empty if its manifest cannot be read."""
    noun = BENCHMARKS[benchmark].benchmark.noun
    try:
        manifest = read_manifest(release)
    except (OSError, ManifestError):
        return {"size": "", "cost": ""}
    items = manifest.counts.get(f"{noun}s")
    return {"size": counted(items, noun) if items is not None else "", "cost": manifest.usage.words if manifest.usage else ""}


def _best(evaluations: Iterable[_Run], dataset: str) -> tuple[str, str, str] | None:
    """Return name, address and score of the best memory on this data set, without references; None if none has a score."""
    rivals: list[_Run] = []
    for run in evaluations:
        if run.dataset == dataset and run.kind not in REFERENCES and run.score:
            rivals.append(run)
    if not rivals:
        return None
    best = max(rivals, key=attrgetter("score.value"))
    return (*_link(best.memory, "runs", best.folder.name, PAGE), best.score_text)


def _last_run(record: dg.RunRecord) -> tuple[str, str, str]:
    """Return the status, address and creation time of a run."""
    run = record.dagster_run
    status = run.status.value.replace("_", " ").lower()
    return status, f"/runs/{run.run_id}", f"{record.create_timestamp:%Y-%m-%d %H:%M} UTC"


def _link(words: str, *parts: str) -> tuple[str, str]:
    return words, page_address(*parts)


@cache
def _templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(FOLDER), undefined=StrictUndefined, autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
