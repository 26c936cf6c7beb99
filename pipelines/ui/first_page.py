"""The first page: every variant with its results and what it is good for, and every evaluation."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from html import unescape
from itertools import pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any

import dagster as dg
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from assets.engine.provenance import ReportValue
from assets.recipe.loading import load_recipe, purpose_of, variants
from assets.recipe.partitions import PARTITION_TAG
from assets.recipe.recipe import RecipeError
from assets.records.estimate import Estimate
from assets.reporting.page_style import NARROW_TABLES, page_address, page_style
from assets.reporting.plurals import counted
from assets.reporting.verdict import Verdict, verdict_on
from dataset_card.release.manifest import REPORT_PAGE, ManifestError, read_manifest
from dataset_card.release_store.store import FolderReleaseStore
from pipelines.benchmarks import BENCHMARKS
from pipelines.evaluation.folder import MANIFEST, PAGE, RESULTS, runs_folder
from pipelines.evaluation.metrics.results import Results
from pipelines.evaluation.records import RunManifest
from pipelines.evaluation.report.formatting import loss_mark
from pipelines.evaluation.report.numbers import format_estimate
from pipelines.experiments.scoring.leaderboard import LEADERBOARDS_FOLDER
from pipelines.home import Home
from pipelines.resources.storage.io_manager import AssetValueIOManager, open_asset_values

REFERENCES = ("none", "full-history")  # memory kinds that keep nothing or everything; they do not compete
TITLE = re.compile(r"<title>([^<]*)</title>")
COMPARED = re.compile(rf"\.\./runs/([^/\"]+)/{re.escape(PAGE)}")  # a leaderboard's links to its runs
NEW_VARIANT = "variants"  # path that receives the form of a new variant
NAMED = 4  # runs of a leaderboard that are named; the rest are only counted
Json = dict[str, Any]


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
    def link(self) -> tuple[str, str, str]:
        """Title, address, and what tells it from runs of the same title: score, id and time."""
        name = self.page.parent.name
        score = f"{self.score_text}, " if self.score else ""
        return (*_link(_title(self.page), "runs", name, PAGE), f"{score}{name}, {_made_at(self.page)}")

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
    boards: list[tuple[str, str, str]] = []
    for path in _newest_first((home.root / LEADERBOARDS_FOLDER).glob("[!.]*.html")):
        boards.append((*_link(_title(path), LEADERBOARDS_FOLDER, path.name), f"{_compared_runs(path)}{_made_at(path)}"))
    made: list[Json] = []
    waiting: list[Json] = []
    for variant in _variants(home, evaluations, last_runs or {}):
        begun = any(variant[key] for key in ("problem", "report", "releases", "last_run"))
        (made if begun else waiting).append(variant)
    template = page_templates().get_template("index.html.j2")
    return template.render(
        style=page_style(NARROW_TABLES),
        problem=problem,
        made=made,
        waiting=waiting,
        graphs=[_link(name, "graph", name) for name in BENCHMARKS],
        runs=[run.link for run in evaluations],
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


def find_last_runs() -> dict[str, dg.RunRecord]:
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
            "purpose": purpose_of(name),
            "problem": problem,
            "launchpad": page_address("launchpad", name),
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
    return (*_link(best.memory, "runs", best.page.parent.name, PAGE), best.score_text)


def _last_run(record: dg.RunRecord) -> tuple[str, str, str]:
    """Return the status, address and creation time of a run."""
    run = record.dagster_run
    status = run.status.value.replace("_", " ").lower()
    return status, f"/runs/{run.run_id}", f"{record.create_timestamp:%Y-%m-%d %H:%M} UTC"


def _link(words: str, *parts: str) -> tuple[str, str]:
    return words, page_address(*parts)


@cache
def page_templates() -> Environment:
    return Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
