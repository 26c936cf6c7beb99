"""The release folder: written aside, made visible in one move, never changed afterwards."""

import re
import secrets
import shutil
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dataset_card.contents import ReleaseContent, ReleaseError, write_contents
from dataset_card.manifest import MANIFEST, VERSION_PATTERN, Manifest, ManifestBody, ManifestError, read_manifest
from dataset_card.sinks import sync, sync_tree

AUTO = "auto"
FIRST_VERSION = (0, 1, 0)
# Becomes a folder's name and, on the Hub, a configuration's.
VARIANT = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*")


class ReleaseConflict(ReleaseError):
    """The version exists with other content; released bytes are never replaced."""


@dataclass(frozen=True)
class Release:
    """A release on disk. `created` is false when the very same one was there already."""

    folder: Path
    manifest: Manifest
    created: bool

    @property
    def version(self) -> str:
        """Three numbers with dots."""
        return self.manifest.version

    @property
    def digest(self) -> str:
        """sha256 over the manifest without its version, in hex."""
        return self.manifest.digest


def write_release(content: ReleaseContent, *, root: Path, version: str = AUTO) -> Release:
    """Write `<root>/<variant>/<version>/`. A version that is there with the same digest is left as it is.

    "auto" takes the highest version if its digest is the same, else the next patch after it (first: 0.1.0).
    Raises ReleaseConflict when the version is there with other content, ReleaseError for content that cannot be
    released or a bad version, OSError from the disk.
    """
    if version != AUTO and not re.fullmatch(VERSION_PATTERN, version):
        raise ReleaseError(f"{version!r} is no version; give three numbers such as 0.1.0, or {AUTO!r}.")
    if not VARIANT.fullmatch(content.recipe.variant):
        raise ReleaseError(f"The variant {content.recipe.variant!r} cannot name a folder; use letters, digits, dots, - and _.")
    home = root / content.recipe.variant
    home.mkdir(parents=True, exist_ok=True)
    with _hidden_folder(home) as draft:
        body = write_contents(content, folder=draft)
        return _settle(body, draft=draft, home=home, version=version)


def released_versions(home: Path) -> list[str]:
    """Versions below `<root>/<variant>`, lowest first."""
    names = [path.name for path in home.iterdir() if re.fullmatch(VERSION_PATTERN, path.name)] if home.is_dir() else []
    return sorted(names, key=_numbers)


@contextmanager
def _hidden_folder(home: Path) -> Generator[Path, None, None]:
    # Beside its destination, so that the last step is a rename within one file system.
    draft = home / f".writing-{secrets.token_hex(8)}"
    draft.mkdir()
    try:
        yield draft
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _settle(body: ManifestBody, *, draft: Path, home: Path, version: str) -> Release:
    chosen = _next_version(body, home=home) if version == AUTO else version
    folder = home / chosen
    if folder.exists():
        return _existing(body, folder=folder)
    manifest = Manifest.of(body, version=chosen)
    (draft / MANIFEST).write_bytes(manifest.to_bytes())
    sync_tree(draft)
    try:
        draft.rename(folder)
    except OSError:
        if not folder.exists():
            raise
        # Another process was first with this version: look again at what is there now.
        return _settle(body, draft=draft, home=home, version=version)
    sync(home)
    return Release(folder, manifest, created=True)


def _next_version(body: ManifestBody, *, home: Path) -> str:
    versions = released_versions(home)
    if not versions:
        return _text(FIRST_VERSION)
    highest = versions[-1]
    if _manifest(home / highest).digest == body.release_digest():
        return highest
    major, minor, patch = _numbers(highest)
    return _text((major, minor, patch + 1))


def _existing(body: ManifestBody, *, folder: Path) -> Release:
    manifest = _manifest(folder)
    if manifest.digest != body.release_digest():
        raise ReleaseConflict(
            f"Version {folder.name} of {body.variant} is already released with other content (its digest begins with "
            f"{manifest.digest[:12]}, the new one with {body.release_digest()[:12]}); choose a higher version or {AUTO!r}."
        )
    return Release(folder, manifest, created=False)


def _manifest(folder: Path) -> Manifest:
    try:
        return read_manifest(folder)
    except ManifestError as error:
        raise ReleaseConflict(
            f"Version {folder.name} is already there, but {str(error).rstrip('.')}; move it away or choose a higher version."
        ) from error


def _numbers(version: str) -> tuple[int, int, int]:
    major, minor, patch = (int(number) for number in version.split("."))
    return major, minor, patch


def _text(version: tuple[int, int, int]) -> str:
    return ".".join(str(number) for number in version)
