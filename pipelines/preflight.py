"""What would stop a run after calls were paid for, looked for before the first one."""

import shutil

from assets.recipe.recipe import Recipe
from dataset_card.release.folder import AUTO, check_version
from dataset_card.release.manifest import ReleaseError
from dataset_card.release.versions import numbers, released_versions
from pipelines.home import Home
from pipelines.resources.storage.errors import StoreError

# In bytes. Six small users take 12 MB with caches, pages and release.
LEAST_FREE = 200_000_000


def check_before_run(recipe: Recipe, *, version: str, home: Home) -> None:
    """Raise ReleaseError for a version that the release cannot get, StoreError for a disk that is
    nearly full.

    Releases in an object store are not looked at; a version that is too low is refused there when the release is written.
    """
    check_version(version)
    released = released_versions(home.releases / recipe.variant)
    if version != AUTO and released and version not in released and numbers(version) < numbers(released[-1]):
        raise ReleaseError(
            f"Version {version} of {recipe.variant!r} is lower than {released[-1]}, which is there; "
            f"give a higher one, or {AUTO!r}."
        )
    free = shutil.disk_usage(home.root).free
    if free < LEAST_FREE:
        raise StoreError(
            f"The disk of {home.root} has {free / 1e6:.0f} MB left, and a run needs {LEAST_FREE / 1e6:.0f}; "
            "free some space, or choose another folder in AMEMGYM_HOME."
        )
