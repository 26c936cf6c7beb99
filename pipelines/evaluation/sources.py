"""Data sets to evaluate on: a release of any benchmark, found as every command finds it, or a file of a benchmark's form."""

from collections.abc import Mapping
from pathlib import Path
from pkgutil import resolve_name
from typing import TypeVar

from assets.recipe.loading import build_recipe, expect_recipe
from assets.recipe.recipe import Recipe, RecipeError
from dataset_card.errors import HubError
from dataset_card.release.manifest import ManifestError, ReleaseError, read_recipe_fields
from dataset_card.release_store.store import ReleaseStore
from pipelines.benchmarks import BENCHMARKS, WORLDS
from pipelines.errors import EvaluationError, StoreError
from pipelines.evaluation.run import BenchmarkTasks
from pipelines.opening.releases import whole_release

R = TypeVar("R", bound=Recipe)


def open_tasks(source: str, *, release_store: ReleaseStore, settings: Mapping[str, object] | None = None) -> BenchmarkTasks:
    """Return the tasks of a release of any benchmark, of a file, which `settings` are for, or of a world.

    Raises EvaluationError with one sentence; everything has been read and checked then, and nothing asked of a model.
    """
    world, colon, _ = source.partition(":")
    if colon and world in WORLDS:
        return WORLDS[world](source)
    for entry in BENCHMARKS.values():
        if entry.files and (source.endswith(entry.files) or (Path(source).suffix and Path(source).is_file())):
            return resolve_name(entry.file_tasks)(Path(source), settings or {})
    given = ", ".join(settings or ())
    if given:
        raise EvaluationError(f"{source} has its own {given}; only a bare data.json takes them from the command.")
    try:
        folder = whole_release(source, release_store=release_store)
    except (HubError, ReleaseError, StoreError) as error:
        raise EvaluationError(str(error)) from error
    # A release says itself what it is of.
    name = release_recipe(folder, Recipe).benchmark
    known = list[str]()
    for benchmark, entry in BENCHMARKS.items():
        if entry.tasks:
            known.append(benchmark)
            if benchmark == name:
                return resolve_name(entry.tasks)(folder, entry.record)
    raise EvaluationError(f"{folder} is a release of {name!r}; only releases of these can be evaluated: {', '.join(known)}.")


def release_recipe(folder: Path, kind: type[R]) -> R:
    """Return the recipe of a release. Raises EvaluationError for one that cannot be read, or is not of the `kind`."""
    try:
        return expect_recipe(build_recipe(read_recipe_fields(folder)), kind)
    except (RecipeError, ManifestError) as error:
        raise EvaluationError(f"The release in {folder} cannot be used: {error}") from error
