"""Releases in an object store, which are read as local copies. `release_writer.py` writes them."""

import errno
import filecmp
import shutil
from contextlib import suppress
from pathlib import Path

from dataset_card.release.manifest import MANIFEST
from dataset_card.release.verify import verify_release
from dataset_card.release.versions import is_version, numbers
from pipelines.resources.storage.file_store import draft_name, new_draft
from pipelines.resources.storage.object_store import ObjectStore


class ObjectReleaseStore:
    """The ReleaseStore port."""

    def __init__(self, objects: ObjectStore) -> None:
        self.objects = objects

    @property
    def address(self) -> str:
        return self.objects.address

    def versions(self, variant: str) -> list[str]:
        """Return the versions that have a manifest. A version without one is not completely uploaded."""
        found: list[str] = []
        for name in self.objects.names(variant):
            folder, _, file = name.rpartition("/")
            version = folder.removeprefix(f"{variant}/")
            if file == MANIFEST and is_version(version):
                found.append(version)
        return sorted(found, key=numbers)

    def folder(self, variant: str, version: str, *, fresh: bool = False) -> Path:
        """Return the folder of a local copy. It is downloaded unless an intact copy with the same manifest exists."""
        name = f"{variant}/{version}"
        manifest = self.objects.read(f"{name}/{MANIFEST}")
        copy = self.objects.cache / name
        if not fresh and _holds(copy, manifest) and not verify_release(copy):
            return copy
        draft = new_draft(copy.parent)
        files = {file_name: draft / file_name.removeprefix(f"{name}/") for file_name in self.objects.names(name)}
        self.objects.download(files)
        return replace_copy(draft, copy)


def _holds(folder: Path, manifest: bytes) -> bool:
    try:
        return (folder / MANIFEST).read_bytes() == manifest
    except FileNotFoundError:
        return False


def replace_copy(draft: Path, copy: Path) -> Path:
    """Replace a copy with the draft. An equal copy is kept, because another process may be reading it."""
    while True:
        try:
            return draft.rename(copy)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                raise
        if _same(draft, copy):
            shutil.rmtree(draft)
            return copy
        old = copy.with_name(draft_name())
        with suppress(FileNotFoundError):  # another process has just removed it
            shutil.rmtree(copy.rename(old))


def _same(first: Path, other: Path) -> bool:
    """Return whether two folders hold the same files with the same bytes."""
    names = _files_below(first)
    if names != _files_below(other):
        return False
    _, different, unreadable = filecmp.cmpfiles(first, other, names, shallow=False)
    return not different and not unreadable


def _files_below(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
