"""The release store: releases by variant and version, to be read. The port, and the one that is a folder on a disk."""

from pathlib import Path
from typing import Protocol

from assets.recipe.loading import variants
from assets.records.problems import nearest_first
from dataset_card.release.manifest import ReleaseError
from dataset_card.release.versions import VARIANT, released_versions


class ReleaseStore(Protocol):
    """Releases by variant and version. Raises OSError with the store's own words when it cannot be used."""

    @property
    def address(self) -> str:
        """The store as messages name it: a path or a URL."""
        ...

    def versions(self, variant: str) -> list[str]:
        """Lowest first; none for a variant without a release."""
        ...

    def folder(self, variant: str, version: str, *, fresh: bool = False) -> Path:
        """The release on this machine; `fresh`: with every byte as it is in the release store now. Raises FileNotFoundError."""
        ...


class FolderReleaseStore:
    """The release store that is a folder on a disk."""

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    def address(self) -> str:
        return str(self.root)

    def versions(self, variant: str) -> list[str]:
        return released_versions(self.root / variant)

    def folder(self, variant: str, version: str, *, fresh: bool = False) -> Path:
        return self.root / variant / version


def find_release(release_store: ReleaseStore, variant: str, *, version: str = "", fresh: bool = False) -> Path | None:
    """The variant's newest release, or that version; None when it has none. Raises ReleaseError for a missing version."""
    versions = release_store.versions(variant) if VARIANT.fullmatch(variant) else []
    if not versions:
        return None
    if version and version not in versions:
        raise ReleaseError(f"{variant} has no version {version}; there are {', '.join(versions)}.")
    return release_store.folder(variant, version or versions[-1], fresh=fresh)


def releases_there(release_store: ReleaseStore, wrong: str) -> str:
    """The end of a sentence about a name without a release: where releases are, and of which variants."""
    names = [name for name in variants() if release_store.versions(name)]
    known = f"are those of {nearest_first(wrong, names)}." if names else "is none yet; make one with: amemgym generate demo"
    return f"in {release_store.address} {known}"
