"""What a release has to be before anything of it is sent."""

import re
from itertools import pairwise
from pathlib import Path

from dataset_card.card.configurations import configuration_problems
from dataset_card.hub.layout import RESERVED, repository_path
from dataset_card.hub.port import HubError
from dataset_card.release.manifest import Manifest, ManifestError, read_manifest
from dataset_card.release.verify import verify_release

REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
# What git forbids in the name of a tag, of all that a variant's name may hold.
UNTAGGABLE = re.compile(r"\.\.|\.lock$|\.$")


class UnfitRelease(HubError):
    """The release, or the name it shall have, cannot be published as it is."""


def checked_repo(repo: str) -> str:
    """The repository's name. Raises UnfitRelease unless it is OWNER/NAME."""
    if not REPO.fullmatch(repo) or ".." in repo or "--" in repo or len(repo) > 96:
        raise UnfitRelease(f"{repo!r} is no repository; give OWNER/NAME, as in my-lab/amemgym.")
    return repo


def checked_release(folder: Path) -> Manifest:
    """The release's manifest, after everything that can be checked here. Raises UnfitRelease with the first problem."""
    problems = verify_release(folder)
    if problems:
        rest = f" ({len(problems) - 1} more)" if len(problems) > 1 else ""
        raise UnfitRelease(f"The release in {folder} is not whole: {problems[0].rstrip('.')}{rest}; make it again.")
    manifest = _manifest(folder)
    if manifest.variant in RESERVED or UNTAGGABLE.search(manifest.variant):
        raise UnfitRelease(f"A variant named {manifest.variant!r} cannot be published; give its recipe another name.")
    moved = sorted(repository_path(file.path, variant=manifest.variant) for file in manifest.files)
    if len(set(moved)) < len(moved):
        repeated = next(path for path, later in pairwise(moved) if path == later)
        raise UnfitRelease(f"Two files of the release in {folder} would both become {repeated!r} in the repository.")
    for problem in configuration_problems(folder, manifest=manifest):
        raise UnfitRelease(f"The release in {folder} cannot be loaded: {problem} Make it again.")
    return manifest


def _manifest(folder: Path) -> Manifest:
    try:
        return read_manifest(folder)
    except ManifestError as error:
        raise UnfitRelease(f"The release in {folder} is not whole: {error}") from error
