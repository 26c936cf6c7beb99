"""What a release has to be before anything of it is sent."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

from dataset_card.hub import HubError
from dataset_card.hub_card import CardError, split_card
from dataset_card.hub_layout import CARD, RESERVED, repository_path
from dataset_card.manifest import Manifest, ManifestError, ManifestFile, read_manifest
from dataset_card.verify import verify_release

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
    _check_configurations(folder, manifest)
    return manifest


def _manifest(folder: Path) -> Manifest:
    try:
        return read_manifest(folder)
    except ManifestError as error:
        raise UnfitRelease(f"The release in {folder} is not whole: {error}") from error


def _check_configurations(folder: Path, manifest: Manifest) -> None:
    """The Hub takes a card whose globs match nothing; only the reader who loads that configuration would notice."""
    place = f"{CARD} in {folder}"
    try:
        header, _ = split_card((folder / CARD).read_text(encoding="utf-8"), place=place)
        configurations = dict(_configurations(header))
    except (OSError, UnicodeDecodeError, LookupError, TypeError) as error:
        raise UnfitRelease(f"The configurations in {place} cannot be read; make the release again.") from error
    if manifest.variant not in configurations:
        raise CardError(f"{place} has no configuration {manifest.variant!r}; make the release again.")
    for name, patterns in configurations.items():
        for pattern in patterns or [""]:
            matched = [file for file in manifest.files if _matches(file, pattern)]
            if not matched:
                raise UnfitRelease(f"The configuration {name!r} in {place} asks for {pattern!r}, which matches no file.")
            if not any(file.rows for file in matched):
                raise UnfitRelease(f"The configuration {name!r} in {place} has no rows, so nobody could load it.")


def _configurations(header: dict[str, Any]) -> Iterator[tuple[str, list[str]]]:
    for configuration in header["configs"]:
        yield configuration["config_name"], list(_patterns(configuration["data_files"]))


def _patterns(given: object) -> Iterator[str]:
    """All forms that the Hub allows: a pattern, a list of patterns, or of splits with theirs."""
    if isinstance(given, str):
        yield given
    elif isinstance(given, dict):
        inner = cast(dict[str, object], given)
        yield from _patterns(inner["path"] if "path" in inner else list(inner.values()))
    elif isinstance(given, list):
        for item in cast(list[object], given):
            yield from _patterns(item)
    else:
        raise TypeError("a pattern is text")


def _matches(file: ManifestFile, pattern: str) -> bool:
    # A star stays within one folder, unless there are two.
    return fnmatchcase(file.path, pattern) and ("**" in pattern or file.path.count("/") == pattern.count("/"))
