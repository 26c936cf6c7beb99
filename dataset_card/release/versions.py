"""Versions of a release: three numbers, and which of them has to grow when something changed.

| since the last release | grows |
|---|---|
| a label or a row changed or is gone, so that scores on what stayed cannot be compared | major |
| only rows came in: users, questions | minor |
| only words changed: texts in the rows, the card, how it was made | patch |

Zero in front is no exception: whoever names two versions can tell from the numbers alone whether scores compare.
"""

import re
from pathlib import Path
from typing import Literal

from dataset_card.release.manifest import VERSION_PATTERN

FIRST_VERSION = "0.1.0"
# A variant's name becomes that of a folder and, on the Hub, of a configuration.
VARIANT = re.compile(r"^[A-Za-z0-9][A-Za-z0-9._-]*")
Level = Literal["same", "patch", "minor", "major"]
LEVELS: tuple[Level, ...] = ("same", "patch", "minor", "major")
Numbers = tuple[int, int, int]


def is_version(text: str) -> bool:
    """Whether this is three numbers with dots."""
    return re.fullmatch(VERSION_PATTERN, text) is not None


def numbers(version: str) -> Numbers:
    """The version, for comparing. Raises ValueError for what is none."""
    major, minor, patch = (int(number) for number in version.split("."))
    return major, minor, patch


def smallest_after(last: str, *, level: Level) -> str:
    """The smallest version that the rule allows after `last`; the next patch where nothing changed."""
    major, minor, patch = numbers(last)
    following: dict[Level, Numbers] = {"major": (major + 1, 0, 0), "minor": (major, minor + 1, 0)}
    return ".".join(str(number) for number in following.get(level, (major, minor, patch + 1)))


def released_versions(home: Path) -> list[str]:
    """Versions in the folder of a variant, lowest first; other names in it are ignored."""
    names = [path.name for path in home.iterdir() if is_version(path.name)] if home.is_dir() else []
    return sorted(names, key=numbers)
