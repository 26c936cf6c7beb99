"""Find a release in a folder, by variant and version, at a URL or on the Hub. All commands use this module."""

import sys
from collections.abc import Callable
from pathlib import Path

from dataset_card.release.manifest import MANIFEST, ReleaseError
from dataset_card.release.verify import remedy, verify_release
from dataset_card.release.versions import ON_THE_HUB, released_versions
from dataset_card.release_store.store import ReleaseStore, find_release, releases_there
from pipelines.home import home
from pipelines.resources.storage.open_stores import release_at


def on_stderr(sentence: str) -> None:
    """Print a sentence to stderr, so that it is not part of a command's result."""
    print(sentence, file=sys.stderr)


def stored_release(source: str, *, release_store: ReleaseStore, version: str = "", fresh: bool = False) -> Path:
    """Return the folder of a release that is not on the Hub. `source`: a folder, URL, VARIANT (its newest) or VARIANT@VERSION.

    `release_store`: holds the variants' releases. `fresh`: read every byte from it, not from a local copy.
    Raises ReleaseError or StoreError.
    """
    if "://" in source:
        return release_at(source, home=home(), fresh=fresh)
    if (Path(source) / MANIFEST).is_file():
        if version:
            raise ReleaseError(f"{source} is one release already; use --version only with the name of a variant.")
        return Path(source)
    variant, _, named = source.partition("@")
    versions = released_versions(Path(source))
    if versions:
        places = ", ".join(str(Path(source) / version) for version in versions)
        raise ReleaseError(f"{source!r} is a folder of releases, not a release; name one of {places}.")
    folder = find_release(release_store, variant, version=version or named, fresh=fresh)
    if folder is None:
        missing = "does not exist: it " if "/" in source and not Path(source).exists() else ""
        raise ReleaseError(
            f"{source!r} {missing}is neither a release folder nor a variant with a release, nor a URL or OWNER/NAME@TAG; "
            f"{releases_there(release_store, source)}"
        )
    return folder


def whole_release(
    source: str,
    *,
    release_store: ReleaseStore,
    endpoint: str | None = None,
    notice: Callable[[str], None] = on_stderr,
) -> Path:
    """Return a release's folder after all its files were checked. `OWNER/NAME@TAG` is downloaded once and then cached.

    Raises HubError, ReleaseError or StoreError with one sentence.
    """
    if ON_THE_HUB.fullmatch(source) and not Path(source).exists():
        # Imported late: only releases on the Hub need its client and Dagster, which its checks import.
        from pipelines.opening.hub import release_reader

        return release_reader(endpoint=endpoint, notice=notice).read(source).folder
    folder = stored_release(source, release_store=release_store)
    problems = verify_release(folder)
    if problems:
        raise ReleaseError(f"The release in {folder} is damaged or incomplete: {problems[0]} {remedy(folder)}")
    return folder
