"""Where what is evaluated on lies: a release in a folder, of a variant, behind a URL or on the Hub; verified before use."""

import sys
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import yaml

from assets.recipe.loading import RecipeError, build_recipe, expect_recipe
from assets.recipe.recipe import Recipe
from dataset_card.release.manifest import MANIFEST, RECIPE, ReleaseError
from dataset_card.release.store import ReleaseStore, find_release
from dataset_card.release.verify import verify_release
from pipelines.evaluation.errors import EvaluationError
from pipelines.home import home
from pipelines.resources.storage.errors import StoreError

R = TypeVar("R", bound=Recipe)


def release_folder(source: str, *, release_store: ReleaseStore) -> Path:
    """The folder of a release whose every digest was checked. Raises EvaluationError with one sentence.

    `source`: as in `amemgym evaluate`; `OWNER/NAME@TAG` is fetched from the Hub the first time and from the disk then.
    `release_store`: where a variant's releases stand, for `VARIANT` and `VARIANT@VERSION`.
    """
    if (Path(source) / MANIFEST).is_file():
        folder = Path(source)
    elif "://" in source:
        folder = _at_url(source)
    elif "@" in source and "/" in source:
        folder = _fetched(source)
    else:
        folder = _in_store(source, release_store)
    if problems := verify_release(folder):
        raise EvaluationError(f"The release {folder} is not what its manifest says: {problems[0]} Take an unchanged copy.")
    return folder


def release_recipe(folder: Path, kind: type[R]) -> R:
    """The recipe of a release. Raises EvaluationError for one that cannot be read, or is of another benchmark than `kind`."""
    path = folder / RECIPE
    try:
        fields: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        return expect_recipe(build_recipe(fields), kind)
    except (OSError, yaml.YAMLError, RecipeError) as error:
        raise EvaluationError(f"{path} cannot be used: {error}") from error


def own_settings_sentence(source: str, settings: Iterable[str]) -> str:
    """What is wrong with settings for a release."""
    return f"{source} has its own {', '.join(settings)}; they are set for a bare data.json only."


def _fetched(source: str) -> Path:
    # Only releases on the Hub need its client, and Dagster, which is behind the checks there.
    from dataset_card.hub.port import HubError
    from pipelines.resources.hub.open_hub import release_reader

    try:
        return release_reader(notice=partial(print, file=sys.stderr)).read(source).folder
    except HubError as error:
        raise EvaluationError(str(error)) from error


def _at_url(url: str) -> Path:
    from pipelines.resources.storage.open_stores import release_at

    try:
        return release_at(url, home=home())
    except StoreError as error:
        raise EvaluationError(str(error)) from error


def _in_store(source: str, release_store: ReleaseStore) -> Path:
    variant, _, version = source.partition("@")
    try:
        folder = find_release(release_store, variant, version=version)
    except (ReleaseError, StoreError) as error:
        raise EvaluationError(str(error)) from error
    if folder is None:
        raise EvaluationError(
            f"{source!r} is neither a data.json, nor a release folder, nor OWNER/NAME@TAG, nor a variant with a release in "
            f"{release_store.address}; make one with: amemgym generate demo"
        )
    return folder
