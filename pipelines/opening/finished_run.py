"""What `generate` made last of a variant, so that an unchanged variant is not made again.

Two digests decide. The first is of all that makes a variant: this program's files, the installed libraries, the resolved recipe
and the asked version. The second is of the files that were made, by path, size and time of change. So no input is listed here.
"""

import hashlib
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg
from pydantic import ValidationError

from assets.engine.benchmark import Benchmark
from assets.recipe.recipe import Recipe
from assets.records.base import Record
from assets.whole_files import whole_file
from pipelines.home import Home
from validation.report.asset import LEFT_OUT

PROGRAM = Path(__file__).parents[2]
PACKAGES = ("assets", "dataset_card", "pipelines", "prompts", "validation")


class FinishedVariant(Record):
    """What made a variant. `made_by`, `made`: the two digests. `runs`: ids of its runs in Dagster.

    `folder`: the release, relative to the data folder. `checks`: a sentence that says how many passed.
    """

    made_by: str
    made: str
    runs: tuple[str, ...]
    folder: str
    checks: str


def unchanged_run(
    home: Home, benchmark: Benchmark, variant: str, *, made_by: str, instance: dg.DagsterInstance
) -> FinishedVariant | None:
    """Return the last run where another would make the same of the same, and all that it made is there; otherwise None."""
    try:
        last = FinishedVariant.model_validate_json(_record_of(home, variant).read_bytes())
    except (FileNotFoundError, ValidationError):  # none yet, or one of another version of this program
        return None
    same = last.made_by == made_by and last.made == digest_of_made(home, benchmark, variant)
    return last if same and all(map(instance.has_run, last.runs)) else None


def keep_finished_run(
    home: Home,
    benchmark: Benchmark,
    results: Sequence[dg.ExecuteInProcessResult],
    *,
    made_by: str,
    folder: Path,
    checks: str,
) -> None:
    """Write down what these runs made. `folder`: the release. Raises OSError.

    Nothing is written where files lie in a store, or where the report leaves out what another run may find.
    """
    reported = results[-1].asset_materializations_for_node(benchmark.op("quality_report"))[-1].metadata
    if home.store or LEFT_OUT in reported:
        return
    variant = folder.parent.name
    finished = FinishedVariant(
        made_by=made_by,
        made=digest_of_made(home, benchmark, variant),
        runs=tuple(result.run_id for result in results),
        folder=str(folder.relative_to(home.root)),
        checks=checks,
    )
    path = _record_of(home, variant)
    path.parent.mkdir(exist_ok=True)
    with whole_file(path) as draft:
        draft.write_text(f"{finished.model_dump_json()}\n", encoding="utf-8")


def _record_of(home: Home, variant: str) -> Path:
    return home.root / "finished" / f"{variant}.json"


def digest_of_makers(program: str, resolved: Recipe, *, version: str) -> str:
    """Return a digest of what makes a variant: `program` of `digest_of_program`, its resolved recipe, the version asked for."""
    return hashlib.sha256(f"{program}\n{resolved.model_dump_json()}\n{version}".encode()).hexdigest()


def digest_of_program() -> str:
    """Return a digest of this program's files and the installed libraries. Ask before a run, during which files may change."""
    digest = hashlib.sha256("\n".join(_installed_packages()).encode())
    for package in PACKAGES:
        for path in sorted((PROGRAM / package).rglob("*")):
            if path.suffix != ".pyc" and path.is_file():
                digest.update(f"{path.relative_to(PROGRAM)}\n".encode())
                digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def _installed_packages() -> Iterator[str]:
    """Yield Python's version, and the name and version of each installed distribution, as its folder has them."""
    yield sys.version
    for folder in sys.path:
        yield from sorted(path.name for path in Path(folder).glob("*.dist-info"))


def digest_of_made(home: Home, benchmark: Benchmark, variant: str) -> str:
    """Return a digest of paths, sizes and times of a variant's values, snapshots, report and releases in the data folder."""
    digest = hashlib.sha256()
    for path in _made_files(home, {variant, *benchmark.partitions.units[variant]}, variant):
        state = path.stat()
        digest.update(f"{path.relative_to(home.root)} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _made_files(home: Home, partitions: set[str], variant: str) -> Iterator[Path]:
    for partition in sorted(partitions):
        yield from sorted(home.root.glob(f"values/*/{partition}.json"))
        for folder in sorted(home.root.glob(f"snapshots/*/{partition}")):
            yield from _files_below(folder)
    yield from home.reports.glob(f"{variant}.html")
    yield from _files_below(home.reports / variant)
    yield from _files_below(home.releases / variant)


def _files_below(folder: Path) -> Iterator[Path]:
    return (path for path in sorted(folder.rglob("*")) if path.is_file())
