"""Data sets to evaluate on: a release of any benchmark, found as every command finds it, or a file of a benchmark's form."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import TypeVar

from assets.recipe.loading import RecipeError, build_recipe, expect_recipe
from assets.recipe.recipe import Recipe
from dataset_card.errors import HubError
from dataset_card.release.manifest import ManifestError, ReleaseError, read_recipe_fields
from dataset_card.release_store.store import ReleaseStore
from pipelines.errors import EvaluationError, StoreError
from pipelines.evaluation.run import BenchmarkTasks, DatasetInfo
from pipelines.opening.releases import whole_release

R = TypeVar("R", bound=Recipe)
QUESTIONS = "questions:"  # before a release: what is asked beside its tasks


def open_tasks(source: str, *, release_store: ReleaseStore, settings: Mapping[str, object] | None = None) -> BenchmarkTasks:
    """Return the tasks of a release of any benchmark, of a file, which `settings` are for, or of a world.

    Raises EvaluationError with one sentence; everything has been read and checked then, and nothing asked of a model.
    """
    # Late: the entries name stages, which import Dagster; the runner itself needs none of it.
    from pipelines.benchmarks import BENCHMARKS, WORLDS

    for beginning, read in WORLDS.items():
        if source.startswith(beginning):
            return resolve_name(read)(source)
    for entry in BENCHMARKS:
        if entry.files and source.endswith(entry.files):
            return resolve_name(entry.file_tasks)(Path(source), settings or {})
    # A release says itself what it is of.
    folder = release_folder(source.removeprefix(QUESTIONS), release_store=release_store, settings=settings or ())
    name = release_recipe(folder, Recipe).benchmark
    known = list[str]()
    for entry in BENCHMARKS:
        tasks = entry.questions if source.startswith(QUESTIONS) else entry.tasks
        if tasks:
            known.append(entry.benchmark.name)
            if entry.benchmark.name == name:
                return resolve_name(tasks)(folder, entry.benchmark.final.record)
    if source.startswith(QUESTIONS):
        raise EvaluationError(
            f"{folder} is a release of {name!r}; only one of {', '.join(known)} has questions beside its tasks."
        )
    raise EvaluationError(f"{folder} is a release of {name!r}; only releases of these can be evaluated: {', '.join(known)}.")


def views_of(info: DatasetInfo) -> tuple[str, str]:
    """Return how a dataset's tasks are exported, and how traced, as `module:object`; "" where they are not."""
    if info.name.startswith(QUESTIONS):  # over documents, whatever the tasks beside them are
        return "pipelines.export.views:export_documents", "pipelines.export.views:trace_documents"
    # Late, as above.
    from pipelines.benchmarks import find_entry

    entry = find_entry(info.benchmark)
    return (entry.exported, entry.traced) if entry else ("", "")


def release_folder(source: str, *, release_store: ReleaseStore, settings: Iterable[str] = ()) -> Path:
    """Return the folder of a whole release. Raises EvaluationError with one sentence.

    `settings`: names that somebody gave and a release has itself.
    """
    given = ", ".join(settings)
    if given:
        raise EvaluationError(f"{source} has its own {given}; only a bare data.json takes them from the command.")
    try:
        return whole_release(source, release_store=release_store)
    except (HubError, ReleaseError, StoreError) as error:
        raise EvaluationError(str(error)) from error


def release_recipe(folder: Path, kind: type[R]) -> R:
    """Return the recipe of a release. Raises EvaluationError for one that cannot be read, or is not of the `kind`."""
    try:
        return expect_recipe(build_recipe(read_recipe_fields(folder)), kind)
    except (RecipeError, ManifestError) as error:
        raise EvaluationError(f"The release in {folder} cannot be used: {error}") from error
