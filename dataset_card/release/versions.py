"""Versions of a release: three numbers, and which of them has to grow when something changed.

| since the last release | grows |
|---|---|
| something that an assistant reads or is scored on changed or is gone, so that scores cannot be compared | major |
| rows came in: users, questions; or an erratum changed a text that two people marked as wording only | minor |
| anything else: card, metadata, gate records, figures, notes beside the rows | patch |

Zero in front is no exception: whoever names two versions can tell from the numbers alone whether scores compare.
This is the second rule. By the first one no free text was a label, so that new words were a patch; a diff tells where the
two decide differently, because versions of before were numbered by the first.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from dataset_card.release.manifest import VARIANT_PATTERN, VERSION_PATTERN

FIRST_VERSION = "0.1.0"
FIRST_RULE, RULE = 1, 2
VARIANT = re.compile(VARIANT_PATTERN)
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


def highest(levels: Iterable[Level]) -> Level:
    """The greatest of the levels, "same" of none."""
    return LEVELS[max((LEVELS.index(level) for level in levels), default=0)]


def released_versions(home: Path) -> list[str]:
    """Versions in the folder of a variant, lowest first; other names in it are ignored."""
    names = [path.name for path in home.iterdir() if is_version(path.name)] if home.is_dir() else []
    return sorted(names, key=numbers)
