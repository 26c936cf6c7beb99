"""Releases in an object store. They are written locally and uploaded, the manifest last; they are read as local copies."""

import errno
import filecmp
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from dataset_card.release.content import ReleaseContent
from dataset_card.release.manifest import MANIFEST
from dataset_card.release.verify import verify_release
from dataset_card.release.versions import is_version, numbers
from dataset_card.release_store.folder import Release, ReleaseConflict, write_release
from pipelines.resources.storage.file_store import draft_name, new_draft
from pipelines.resources.storage.object_store import ObjectStore


class ObjectReleaseStore:
    """The ReleaseStore port. `notes`: a local folder with errata and studies, which stand beside a variant's versions."""

    def __init__(self, objects: ObjectStore, *, notes: Path) -> None:
        self._objects = objects
        self._notes = notes

    @property
    def address(self) -> str:
        return self._objects.address

    def versions(self, variant: str) -> list[str]:
        """Return the versions that have a manifest. A version without one is not completely uploaded."""
        found: list[str] = []
        for name in self._objects.names(variant):
            folder, _, file = name.rpartition("/")
            version = folder.removeprefix(f"{variant}/")
            if file == MANIFEST and is_version(version):
                found.append(version)
        return sorted(found, key=numbers)

    def folder(self, variant: str, version: str, *, fresh: bool = False) -> Path:
        """Return the folder of a local copy. It is downloaded unless an intact copy with the same manifest exists."""
        name = f"{variant}/{version}"
        manifest = self._objects.read(f"{name}/{MANIFEST}")
        copy = self._objects.cache / name
        if not fresh and _holds(copy, manifest) and not verify_release(copy):
            return copy
        draft = new_draft(copy.parent)
        files = {one: draft / one.removeprefix(f"{name}/") for one in self._objects.names(name)}
        self._objects.download(files)
        return _replace(draft, copy)

    def write(self, content: ReleaseContent, *, version: str) -> Release:
        """Write the release to a local folder that holds the versions it is compared with, then upload it."""
        variant = content.recipe.variant
        root = new_draft(self._objects.cache)
        try:
            self._prepare(root / variant, version=version)
            released = write_release(content, root=root, version=version)
            self._upload(released)
            copy = self._objects.cache / variant / released.version
            copy.parent.mkdir(parents=True, exist_ok=True)
            return replace(released, folder=_replace(released.folder, copy))
        finally:
            shutil.rmtree(root, ignore_errors=True)

    def _prepare(self, home: Path, *, version: str) -> None:
        versions = self.versions(home.name)
        for one in {*versions[-1:], version} & set(versions):
            shutil.copytree(self.folder(home.name, one), home / one, copy_function=os.link)
        notes = self._notes / home.name
        for note in notes.glob("*"):
            if note.is_file():
                home.mkdir(exist_ok=True)
                shutil.copyfile(note, home / note.name)

    def _upload(self, released: Release) -> None:
        """Upload, and delete the files of a killed writer. Raises ReleaseConflict if another manifest is there at the end.

        The store has no locks. If two processes write different content at the same moment, each may find its own manifest.
        Then their files are mixed; verifying the release shows this.
        """
        name = f"{released.manifest.variant}/{released.version}"
        marker = f"{name}/{MANIFEST}"
        manifest = (released.folder / MANIFEST).read_bytes()
        present = set(self._objects.names(name))
        if marker not in present:
            files = {f"{name}/{one.path}": released.folder / one.path for one in released.manifest.files}
            self._objects.upload(files)
            self._objects.delete(present - files.keys())
            self._objects.upload({marker: released.folder / MANIFEST})
        if self._objects.read(marker) != manifest:
            raise ReleaseConflict(
                f"Version {released.version} of {released.manifest.variant} was released by another process meanwhile, with "
                f"other content; run again for a higher version."
            )


def _holds(folder: Path, manifest: bytes) -> bool:
    try:
        return (folder / MANIFEST).read_bytes() == manifest
    except FileNotFoundError:
        return False


def _replace(draft: Path, copy: Path) -> Path:
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


def _same(one: Path, other: Path) -> bool:
    """Return whether two folders hold the same files with the same bytes."""
    names = _files_below(one)
    if names != _files_below(other):
        return False
    _, different, unreadable = filecmp.cmpfiles(one, other, names, shallow=False)
    return not different and not unreadable


def _files_below(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}
