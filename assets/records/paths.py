"""Paths and names that come from outside: from releases, recipes, rows and folders of others, and the Hub.

A text is read by one of the types here before it is used as a path, and a file only where `path_inside` or `files_inside` finds
it. Each reader raises PathRefused, whose message ends a sentence.
"""

import errno
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator

MOST_PATH = 1_000  # characters
MOST_NAME = 200  # bytes of one part: systems take 255, and drafts have longer names than their files
DEVICE = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)  # on Windows, with any ending
SHOWN = 60  # characters of a refused path in a message


class PathRefused(ValueError):
    """A path from outside that leads elsewhere than it may, or that no file can have."""


def read_relative_path(text: str) -> str:
    """Return the text where it names a place in a folder, the same one on every system. Raises PathRefused."""
    parts = text.split("/")
    problem = ""
    if not text.isprintable():
        problem = "has characters that no file name has"
    elif len(text) > MOST_PATH or any(len(part.encode()) > MOST_NAME for part in parts):
        problem = "is longer than the path of a file may be"
    elif "\\" in text or ":" in text or not {"", ".", ".."}.isdisjoint(parts):
        problem = "does not lie inside its folder"
    elif text.startswith("-"):
        problem = "would be read as an option"
    elif any(map(DEVICE.fullmatch, parts)):
        problem = "has the name of a device"
    if problem:
        raise PathRefused(f"{text[:SHOWN]!r} {problem}")
    return text


def is_relative_path(text: str, *, kind: Callable[[str], str] = read_relative_path) -> bool:
    """Return True where a reader takes the text, by default as a place in a folder."""
    try:
        return kind(text) == text
    except PathRefused:
        return False


def read_python_path(text: str) -> str:
    """Return the text where it names a Python file that can be imported from its folder. Raises PathRefused."""
    if not read_relative_path(text).endswith(".py") or not all(map(str.isidentifier, text.removesuffix(".py").split("/"))):
        raise PathRefused(f"{text[:SHOWN]!r} is no path of a Python file, such as package/module.py")
    return text


def read_file_name(text: str) -> str:
    """Return the text where it names a file or a folder, and no way to it. Raises PathRefused."""
    if "/" in read_relative_path(text):
        raise PathRefused(f"{text[:SHOWN]!r} is the path of a file, where a name alone belongs")
    return text


def read_own_path(text: str) -> str:
    """Return the text where it can be a path of this machine, which somebody chose for it. Raises PathRefused."""
    if len(text) > MOST_PATH or not text.isprintable():
        raise PathRefused(f"{text[:SHOWN]!r} is no path that a file can have")
    return text


RelativePath = Annotated[str, AfterValidator(read_relative_path)]
PythonPath = Annotated[str, AfterValidator(read_python_path)]
FileName = Annotated[str, AfterValidator(read_file_name)]
OwnPath = Annotated[str, AfterValidator(read_own_path)]


def path_inside(folder: Path, name: str) -> Path:
    """Return a path in the folder, where nothing has to be yet. Raises PathRefused, also for a link that leads out of it."""
    path = folder / read_relative_path(name)
    expect_inside(folder, path)
    return path


def files_inside(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder, in order of their paths. Raises PathRefused for a link that leads out of it."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            expect_inside(folder, path)
        if path.is_file():
            yield path


def expect_file(path: Path) -> Path:
    """Return the path, of a file or of nothing yet. Raises OSError for a pipe, which nobody may ever write to, and the like."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is a folder, a pipe or a device", str(path))
    return path


def expect_inside(folder: Path, path: Path) -> None:
    """Raise PathRefused where a path lies outside of the folder once its links are followed."""
    if not leads_inside(folder, path):
        raise PathRefused(f"{str(path)!r} is a link, or lies behind one, that leads out of {folder}")


def leads_inside(folder: Path, path: Path) -> bool:
    """Return True where a path lies in the folder once its links are followed."""
    # Unlike Path.resolve, which raises an error of its own for links that lead to each other.
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder))


def refuse_links(folder: Path, path: Path) -> None:
    """Raise PathRefused for a file of a release that is a symbolic link, or lies behind one, wherever it leads."""
    for part in path.relative_to(folder).parts:
        folder = folder / part
        if folder.is_symlink():
            raise PathRefused("is a symbolic link, or lies behind one; a release has files alone")
