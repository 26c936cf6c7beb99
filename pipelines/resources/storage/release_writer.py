"""Writes releases to an installation's folder, or to its object store: there the manifest is uploaded last."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

from dataset_card.release.content import ReleaseContent
from dataset_card.release.manifest import MANIFEST
from dataset_card.release_store.folder import FolderReleaseWriter, Release, ReleaseConflict, ReleaseWriter, write_release
from dataset_card.release_store.store import FolderReleaseStore
from pipelines.home import Home
from pipelines.resources.storage.file_store import new_draft
from pipelines.resources.storage.object_store import ObjectStore
from pipelines.resources.storage.open_stores import open_release_store
from pipelines.resources.storage.release_store import ObjectReleaseStore, replace_copy


def open_release_writer(home: Home) -> ReleaseWriter:
    """Return the installation's release store as one that can be written."""
    release_store = open_release_store(home)
    if isinstance(release_store, FolderReleaseStore):
        return FolderReleaseWriter(release_store.root)
    return ObjectReleaseWriter(release_store.objects, notes=home.releases)


class ObjectReleaseWriter(ObjectReleaseStore):
    """The ReleaseWriter port. `notes`: a local folder with errata, which stand beside a variant's versions."""

    def __init__(self, objects: ObjectStore, *, notes: Path) -> None:
        super().__init__(objects)
        self._notes = notes

    def write(self, content: ReleaseContent, *, version: str) -> Release:
        """Write the release to a local folder that holds the versions it is compared with, then upload it."""
        variant = content.recipe.variant
        root = new_draft(self.objects.cache)
        try:
            self._prepare(root / variant, version=version)
            released = write_release(content, root=root, version=version)
            self._upload(released)
            copy = self.objects.cache / variant / released.version
            copy.parent.mkdir(parents=True, exist_ok=True)
            return replace(released, folder=replace_copy(released.folder, copy))
        finally:
            shutil.rmtree(root, ignore_errors=True)

    def _prepare(self, home: Path, *, version: str) -> None:
        versions = self.versions(home.name)
        for kept_version in {*versions[-1:], version} & set(versions):
            shutil.copytree(self.folder(home.name, kept_version), home / kept_version, copy_function=os.link)
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
        present = set(self.objects.names(name))
        if marker not in present:
            files = {f"{name}/{file.path}": released.folder / file.path for file in released.manifest.files}
            self.objects.upload(files)
            self.objects.delete(present - files.keys())
            self.objects.upload({marker: released.folder / MANIFEST})
        if self.objects.read(marker) != manifest:
            raise ReleaseConflict(
                f"Version {released.version} of {released.manifest.variant} was released by another process meanwhile, with "
                f"other content; run again for a higher version."
            )
