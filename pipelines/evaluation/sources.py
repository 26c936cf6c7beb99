"""Releases to evaluate on: found as every command finds them, with errors that an evaluation's user can mend."""

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from assets.recipe.loading import RecipeError, build_recipe, expect_recipe
from assets.recipe.recipe import Recipe
from dataset_card.hub.port import HubError
from dataset_card.release.manifest import ManifestError, ReleaseError, read_recipe_fields
from dataset_card.release.store import ReleaseStore
from pipelines.evaluation.errors import EvaluationError
from pipelines.releases import whole_release
from pipelines.resources.storage.errors import StoreError

R = TypeVar("R", bound=Recipe)


def release_folder(source: str, *, release_store: ReleaseStore, settings: Iterable[str] = ()) -> Path:
    """The folder of a whole release. Raises EvaluationError with one sentence.

    `settings`: what somebody gave that a release has itself.
    """
    if given := ", ".join(settings):
        raise EvaluationError(f"{source} has its own {given}; they are set for a bare data.json only.")
    try:
        return whole_release(source, release_store=release_store)
    except (HubError, ReleaseError, StoreError) as error:
        raise EvaluationError(str(error)) from error


def release_recipe(folder: Path, kind: type[R]) -> R:
    """The recipe of a release. Raises EvaluationError for one that cannot be read, or is of another benchmark than `kind`."""
    try:
        return expect_recipe(build_recipe(read_recipe_fields(folder)), kind)
    except (RecipeError, ManifestError) as error:
        raise EvaluationError(f"The release in {folder} cannot be used: {error}") from error
