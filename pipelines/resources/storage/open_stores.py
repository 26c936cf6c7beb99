"""Opens an installation's stores for snapshots, asset values and releases: in a folder, or in an object store."""

from pathlib import Path

from dataset_card.release.manifest import MANIFEST
from dataset_card.release.versions import VARIANT, is_version
from dataset_card.release_store.store import FolderReleaseStore
from pipelines.errors import StoreError
from pipelines.home import Home
from pipelines.resources.storage.file_store import FileStore, LocalFiles
from pipelines.resources.storage.object_store import ARGUMENT, ObjectStore
from pipelines.resources.storage.release_store import ObjectReleaseStore

COPIES = "copies"


def snapshot_files(home: Home) -> FileStore:
    """Return the store of all stages' Parquet snapshots. It is opened on first use."""
    return _files(home, "snapshots")


def value_files(home: Home) -> FileStore:
    """Return the store of each asset partition's latest value. It is opened on first use."""
    return _files(home, "values")


def open_release_store(home: Home) -> FolderReleaseStore | ObjectReleaseStore:
    """Return the installation's release store, to read from."""
    folder = _folder(home)
    if folder is not None:
        return FolderReleaseStore(folder / "releases")
    return ObjectReleaseStore(ObjectStore(home.store, "releases", cache=home.root / COPIES))


def release_at(url: str, *, home: Home, fresh: bool = False) -> Path:
    """Return the folder of a local copy of the release at a URL. `fresh`: download every byte again. Raises StoreError."""
    plain, mark, options = url.partition("?")
    message = f"{plain} is not a release; give the address of a folder with a {MANIFEST}, which ends with /VARIANT/VERSION."
    place, _, version = plain.rstrip("/").rpartition("/")
    above, _, variant = place.rpartition("/")
    if VARIANT.fullmatch(variant) is None or not is_version(version):
        raise StoreError(message)
    objects = ObjectStore(f"{above}{mark}{options}", "", cache=home.root / COPIES, source=ARGUMENT)
    try:
        return ObjectReleaseStore(objects).folder(variant, version, fresh=fresh)
    except FileNotFoundError as error:
        raise StoreError(message) from error


def _files(home: Home, kind: str) -> FileStore:
    folder = _folder(home)
    return ObjectStore(home.store, kind, cache=home.root / COPIES) if folder is None else LocalFiles(folder / kind)


def _folder(home: Home) -> Path | None:
    """Return the installation's own folder or the shared folder; None for an object store."""
    path = home.store.removeprefix("file://")
    return None if "://" in path else Path(path or home.root).absolute()
