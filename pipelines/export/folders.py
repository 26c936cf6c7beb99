"""The folder that an export is written into: new, empty, or with an earlier export; nothing else is ever replaced."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path

from assets.records.paths import MOST_NAME
from dataset_card.release.writers import write_durably
from pipelines.errors import EvaluationError

PAGE = "README.md"


def check_free(folder: Path, planned: Collection[str]) -> None:
    """Raise EvaluationError for a folder that holds anything but an earlier export of these files, by path in the folder."""
    there: set[str] = set()
    if folder.exists():
        there = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    foreign = there - set(planned)
    # A page alone may be anybody's.
    if there == {PAGE}:
        foreign = there
    if foreign:
        raise EvaluationError(
            f"{folder} holds files of no export, such as {min(foreign)}; give a new or empty folder with --out."
        )


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files by path in the folder. Raises EvaluationError where the folder is not free, and OSError."""
    check_free(folder, files)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_durably(path, content)


def path_part(text: str) -> str:
    """Return a text as a part of a path that every system takes."""
    # None that begins with a dot leads to the folder above, or hides.
    return re.sub(r"^\.+|[^A-Za-z0-9._-]+", "-", text)[:MOST_NAME]
