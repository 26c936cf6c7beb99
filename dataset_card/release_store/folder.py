"""The release folder: written aside, made visible in one move, never changed afterwards."""

import secrets
import shutil
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from assets.recipe.recipe import variant_problem
from dataset_card.diff.compare import ComparedRelease, compare_releases, read_compared, same_release
from dataset_card.diff.records import ReleaseDiff
from dataset_card.diff.render import changes_section, too_low, with_changes
from dataset_card.release.content import ReleaseContent, ReleaseFormat, write_contents
from dataset_card.release.manifest import (
    CARD,
    MANIFEST,
    Manifest,
    ManifestBody,
    ManifestError,
    Predecessor,
    ReleaseError,
)
from dataset_card.release.verify import verify_release
from dataset_card.release.versions import FIRST_VERSION, is_version, numbers, released_versions, smallest_after
from dataset_card.release.writers import sync, sync_tree, write_file
from dataset_card.release_store.store import FolderReleaseStore, ReleaseStore

AUTO = "auto"


class ReleaseConflict(ReleaseError):
    """The version exists with other content; released bytes are never replaced."""


@dataclass(frozen=True)
class Release:
    """A release on disk. `created` is false when the very same one existed already."""

    folder: Path
    manifest: Manifest
    created: bool

    @property
    def version(self) -> str:
        return self.manifest.version

    @property
    def digest(self) -> str:
        """sha256 over the manifest without its version, in hex."""
        return self.manifest.digest


class ReleaseWriter(ReleaseStore, Protocol):
    """A release store that can be written."""

    def write(self, content: ReleaseContent, *, version: str) -> Release:
        """Write a release as `write_release` does, and raise what it raises."""
        ...


class FolderReleaseWriter(FolderReleaseStore):
    """The release store that is a folder on a disk, to be written."""

    def write(self, content: ReleaseContent, *, version: str) -> Release:
        return write_release(content, root=self.root, version=version)


def check_version(version: str) -> None:
    """Raise ReleaseError for a version that no release can have."""
    if version != AUTO and not is_version(version):
        raise ReleaseError(f"{version!r} is no version; give three numbers such as 0.1.0, or {AUTO!r}.")


def check_next_version(version: str, *, home: Path, fingerprint: Callable[[], str]) -> None:
    """Raise ReleaseError for a version that a release cannot get beside those in the variant's folder, before it is made.

    `fingerprint`: of the recipe that it will be made from, asked for where the version is there already.
    """
    check_version(version)
    if home.is_file():
        raise ReleaseError(f"{home} is a file, and a folder has to be there; move it away, and run the command again.")
    released = released_versions(home)
    if version == AUTO or not released:
        return
    if version not in released and numbers(version) < numbers(released[-1]):
        raise ReleaseError(
            f"Version {version} of {home.name!r} is lower than {released[-1]}, which is there; give a higher one, or {AUTO!r}."
        )
    if version in released and _read(home / version).body.recipe_fingerprint != fingerprint():
        raise ReleaseConflict(
            f"Version {version} of {home.name!r} is already released, from another recipe; choose a higher version or {AUTO!r}."
        )


def write_release(content: ReleaseContent, *, root: Path, version: str = AUTO) -> Release:
    """Write `<root>/<variant>/<version>/`. An existing version with the same content is left as it is.

    The content is compared with the newest release of the variant, and the card says what changed since. "auto" takes
    the newest version if the content is the same, else the smallest that the rule of `versions.py` allows after it.
    What the benchmark's `ReleaseExtras` read from `<root>/<variant>/`, such as errata, is part of the release.
    Raises ReleaseConflict when the version exists with other content, ReleaseError for content that cannot be
    released or a bad or too low version, OSError from the disk.
    """
    # Before the rows are written, which takes long.
    check_version(version)
    problem = variant_problem(content.recipe.variant)
    if problem:
        raise ReleaseError(problem)
    home = root / content.recipe.variant
    home.mkdir(parents=True, exist_ok=True)
    with _hidden_folder(home) as folder:
        body = write_contents(content, folder=folder, home=home)
        return _release_draft(ComparedRelease.of(folder, body), form=content.form, home=home, version=version)


@contextmanager
def _hidden_folder(home: Path) -> Generator[Path, None, None]:
    # Beside its destination, so that the last step is a rename within one file system.
    draft = home / f".writing-{secrets.token_hex(8)}"
    draft.mkdir()
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _release_draft(draft: ComparedRelease, *, form: ReleaseFormat, home: Path, version: str) -> Release:
    versions = released_versions(home)
    newest = _read(home / versions[-1]) if versions else None
    if version in versions:
        return _find_existing(draft, form=form, folder=home / version)
    if version == AUTO and newest is not None and same_release(newest, draft):
        return _find_existing(draft, form=form, folder=newest.folder)
    if newest is None:
        chosen = FIRST_VERSION if version == AUTO else version
        body = draft.body
    else:
        chosen, body = _after(newest, draft, form=form, version=version)
    folder = home / chosen
    manifest = Manifest.of(body, version=chosen)
    (draft.folder / MANIFEST).write_bytes(manifest.to_bytes())
    sync_tree(draft.folder)
    try:
        draft.folder.rename(folder)
    except OSError:
        if not folder.exists():
            raise
        # Another process was first with this version: look again at what exists now.
        return _release_draft(draft, form=form, home=home, version=version)
    sync(home)
    return Release(folder, manifest, created=True)


def _after(newest: ComparedRelease, draft: ComparedRelease, *, form: ReleaseFormat, version: str) -> tuple[str, ManifestBody]:
    """Return the version, checked against the rule, and the manifest with the card that says what changed."""
    diff = _compare_whole(newest, draft, form=form)
    last = str(newest.version)
    smallest = smallest_after(last, level=diff.level)
    if version != AUTO and numbers(version) < numbers(smallest):
        raise ReleaseError(too_low(version, diff=diff, smallest=smallest))
    if diff.level == "same":
        # A higher number for the same release, which keeps its card and its digest.
        card = (newest.folder / CARD).read_text(encoding="utf-8")
        previous = newest.body.previous
    else:
        card = with_changes(draft.card, changes_section(diff))
        previous = Predecessor(version=last, data_digest=newest.body.rows_digest(), because=f"{diff.level}: {diff.reason}")
    file = write_file(draft.folder / CARD, card.encode(), root=draft.folder)
    chosen = smallest if version == AUTO else version
    return chosen, draft.body.with_card(file, previous=previous)


def _find_existing(draft: ComparedRelease, *, form: ReleaseFormat, folder: Path) -> Release:
    released = _read(folder)
    if not same_release(released, draft):
        diff = _compare_whole(released, draft, form=form)
        raise ReleaseConflict(
            f"Version {folder.name} of {released.body.variant} is already released with other content ({diff.reason}); "
            f"choose a higher version or {AUTO!r}."
        )
    return Release(folder, Manifest.model_validate(released.body.model_dump()), created=False)


def _compare_whole(released: ComparedRelease, draft: ComparedRelease, *, form: ReleaseFormat) -> ReleaseDiff:
    problems = verify_release(released.folder)
    if problems:
        raise ReleaseConflict(
            f"Version {released.folder.name} is damaged, so nothing can be compared with it: {problems[0]} Put back an "
            f"unchanged copy, or move {released.folder} away; the new release then takes its place."
        )
    return compare_releases(released, draft, form=form)


def _read(folder: Path) -> ComparedRelease:
    try:
        return read_compared(folder)
    except ManifestError as error:
        raise ReleaseConflict(
            f"Version {folder.name} is already there, but {str(error).rstrip('.')}; move it away or choose a higher version."
        ) from error
