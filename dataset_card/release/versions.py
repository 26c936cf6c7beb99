"""Versions of a release: three numbers, and which of them has to grow when something changed.

| since the last release | grows |
|---|---|
| something that an assistant reads or is scored on changed or is gone, so that scores cannot be compared | major |
| rows came in: users, questions | minor |
| anything else: card, metadata, gate records, figures, notes beside the rows | patch |

Zero in front is no exception: whoever names two versions can tell from the numbers alone whether scores compare.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from assets.recipe.recipe import VARIANT_PATTERN
from dataset_card.release.manifest import VERSION_PATTERN

FIRST_VERSION = "0.1.0"
VARIANT = re.compile(VARIANT_PATTERN)
ON_THE_HUB = re.compile(r"(?P<repo>[\w.-]+/[\w.-]+)@(?P<revision>[^@\s]+)")  # the name of a release there
Level = Literal["same", "patch", "minor", "major"]
LEVELS: tuple[Level, ...] = ("same", "patch", "minor", "major")
Numbers = tuple[int, int, int]


def is_version(text: str) -> bool:
    """Return True for three numbers with dots."""
    return re.fullmatch(VERSION_PATTERN, text) is not None


def numbers(version: str) -> Numbers:
    """Return the version, for comparing. Raises ValueError for what is none."""
    major, minor, patch = map(int, version.split("."))
    return major, minor, patch


def smallest_after(last: str, *, level: Level) -> str:
    """Return the smallest version that the rule allows after `last`; the next patch where nothing changed."""
    major, minor, patch = numbers(last)
    if level == "major":
        return f"{major + 1}.0.0"
    if level == "minor":
        return f"{major}.{minor + 1}.0"
    return f"{major}.{minor}.{patch + 1}"


def highest_level(levels: Iterable[Level]) -> Level:
    """Return the greatest of the levels, "same" of none."""
    highest: Level = "same"
    for level in levels:
        if LEVELS.index(level) > LEVELS.index(highest):
            highest = level
    return highest


def released_versions(home: Path) -> list[str]:
    """Return the versions in the folder of a variant, lowest first; other names in it are ignored."""
    if not home.is_dir():
        return []
    return sorted((path.name for path in home.iterdir() if is_version(path.name)), key=numbers)
