"""Releases in an object store: written on this machine, sent file by file, the manifest last; read as whole copies."""

import errno
import filecmp
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from dataset_card.release.contents import ReleaseContent
from dataset_card.release.folder import Release, ReleaseConflict, write_release
from dataset_card.release.manifest import MANIFEST
from dataset_card.release.verify import verify_release
from dataset_card.release.versions import is_version, numbers
from pipelines.resources.storage.filesystem import draft_name, new_draft
from pipelines.resources.storage.object_store import Bucket


class ObjectReleaseStore:
    """The ReleaseStore port over a bucket. `notes`: where errata and studies lie beside the versions, on this machine."""

    def __init__(self, bucket: Bucket, *, notes: Path) -> None:
        self._bucket = bucket
        self._notes = notes

    @property
    def address(self) -> str:
        """The URL."""
        return self._bucket.address

    def versions(self, variant: str) -> list[str]:
        """Those with a manifest; without one, a release has not arrived."""
        names = [name.split("/") for name in self._bucket.names(variant)]
        found = [parts[1] for parts in names if len(parts) == 3 and parts[2] == MANIFEST and is_version(parts[1])]
        return sorted(found, key=numbers)

    def folder(self, variant: str, version: str, *, fresh: bool = False) -> Path:
        """A copy, fetched unless the one that is here has the same manifest and is whole."""
        name = f"{variant}/{version}"
        manifest, copy = self._bucket.read(f"{name}/{MANIFEST}"), self._bucket.copies / name
        if not fresh and _holds(copy, manifest) and not verify_release(copy):
            return copy
        draft = new_draft(copy.parent)
        inside = {one: draft / one.removeprefix(f"{name}/") for one in self._bucket.names(name)}
        self._bucket.fetch(inside)
        return _moved(draft, copy)

    def write(self, content: ReleaseContent, *, version: str) -> Release:
        """In a folder of its own that holds what the release is compared with, and then in the bucket."""
        variant = content.recipe.variant
        root = new_draft(self._bucket.copies)
        try:
            self._prepare(root / variant, version=version)
            released = write_release(content, root=root, version=version)
            self._send(released)
            copy = self._bucket.copies / variant / released.version
            copy.parent.mkdir(parents=True, exist_ok=True)
            return replace(released, folder=_moved(released.folder, copy))
        finally:
            shutil.rmtree(root, ignore_errors=True)

    def _prepare(self, home: Path, *, version: str) -> None:
        there = self.versions(home.name)
        for one in {*there[-1:], version} & set(there):
            shutil.copytree(self.folder(home.name, one), home / one, copy_function=os.link)
        notes = self._notes / home.name
        for note in notes.iterdir() if notes.is_dir() else ():
            if note.is_file():
                home.mkdir(exist_ok=True)
                shutil.copyfile(note, home / note.name)

    def _send(self, released: Release) -> None:
        """What a killed writer left under the name goes; a writer that finds another's manifest in place of its own is refused.

        There is no lock in a store: of two that write different content in the same moment, both may find their own.
        Their files are then mixed, which whoever verifies the release is told.
        """
        name = f"{released.manifest.variant}/{released.version}"
        sign, manifest = f"{name}/{MANIFEST}", (released.folder / MANIFEST).read_bytes()
        there = set(self._bucket.names(name))
        if sign not in there:
            files = {f"{name}/{one.path}": released.folder / one.path for one in released.manifest.files}
            self._bucket.send(files)
            self._bucket.delete(there - files.keys())
            self._bucket.send({sign: released.folder / MANIFEST})
        if self._bucket.read(sign) != manifest:
            raise ReleaseConflict(
                f"Version {released.version} of {released.manifest.variant} was released by another process meanwhile, with "
                f"other content; run again for a higher version."
            )


def _holds(folder: Path, manifest: bytes) -> bool:
    try:
        return (folder / MANIFEST).read_bytes() == manifest
    except FileNotFoundError:
        return False


def _moved(draft: Path, copy: Path) -> Path:
    """The draft in the place of a copy; one that is the same stays, because another process may be reading it."""
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
        with suppress(FileNotFoundError):  # another process has just done so
            shutil.rmtree(copy.rename(old))


def _same(one: Path, other: Path) -> bool:
    """Whether two folders hold the same files, byte for byte."""
    names, there = ([str(file.relative_to(root)) for file in root.rglob("*") if file.is_file()] for root in (one, other))
    return set(names) == set(there) and filecmp.cmpfiles(one, other, names, shallow=False)[1:] == ([], [])
