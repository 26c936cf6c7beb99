"""Where an installation keeps snapshots, values and releases: its own folder, a shared one, or an object store."""

from pathlib import Path

from dataset_card.release.manifest import MANIFEST
from dataset_card.release.store import FolderReleaseStore, ReleaseStore
from pipelines.home import Home
from pipelines.resources.storage.database import StoreError
from pipelines.resources.storage.filesystem import Folder, Place
from pipelines.resources.storage.object_store import Bucket
from pipelines.resources.storage.release_store import ObjectReleaseStore

COPIES = "copies"


def place_in(home: Home, kind: str) -> Place:
    """The place of one kind of files. Nothing is opened before it is used."""
    folder = _folder(home)
    return Bucket(home.store, kind, aside=home.root / COPIES) if folder is None else Folder(folder / kind)


def open_release_store(home: Home) -> ReleaseStore:
    """The release store of releases."""
    folder = _folder(home)
    if folder is not None:
        return FolderReleaseStore(folder / "releases")
    return ObjectReleaseStore(Bucket(home.store, "releases", aside=home.root / COPIES), notes=home.releases)


def release_at(url: str, *, home: Home, fresh: bool = False) -> Path:
    """A copy of the release at a URL, `fresh`: with every byte as it is there now. Raises StoreError."""
    plain, mark, options = url.partition("?")
    above, variant, version = plain.rstrip("/").rsplit("/", 2)
    release_store = ObjectReleaseStore(Bucket(f"{above}{mark}{options}", "", aside=home.root / COPIES), notes=home.releases)
    try:
        return release_store.folder(variant, version, fresh=fresh)
    except FileNotFoundError as error:
        told = f"{plain} is no release: give the address above a {MANIFEST}, which ends with /VARIANT/VERSION."
        raise StoreError(told) from error


def _folder(home: Home) -> Path | None:
    """None: an object store."""
    path = home.store.removeprefix("file://")
    return None if "://" in path else Path(path or home.root).absolute()
