"""Groups of entry points: names are read from the metadata of installed packages, objects are imported when they are used."""

import sys
import tomllib
from collections.abc import Iterator, MutableMapping
from functools import cache, lru_cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any, Generic, TypeVar

T = TypeVar("T")
PROJECT = Path(__file__).parents[1] / "pyproject.toml"  # of an editable installation; a wheel has none
INSTALL = "make setup, or: pip install --no-deps --no-build-isolation --editable ."


class EntryPointError(Exception):
    """An entry point that is not installed, or whose object cannot be imported; one sentence says what to do.

    `missing`: the module that is not there, "" for another reason.
    """

    def __init__(self, sentence: str, *, missing: str = "") -> None:
        super().__init__(sentence)
        self.missing = missing


class EntryPointGroup(MutableMapping[str, T], Generic[T]):
    """The objects of a group by name, in alphabetical order but for `first`. A look-up imports; listing the names does not.

    A name can also be set, for what is made in this process. An unknown name is a KeyError. EntryPointError is raised where an
    object cannot be imported, where pyproject.toml has a name that was not installed yet, and where `first` is not installed.
    """

    def __init__(self, group: str, *, first: str = "") -> None:
        self.group = group
        self._first = first
        self._loaded: dict[str, T] = {}

    def __getitem__(self, name: str) -> T:
        if name not in self._loaded:
            point = self._installed_entries().get(name)
            if point is None:
                refuse_stale(self.group, name)
                raise KeyError(name)
            self._loaded[name] = load_point(point)
        return self._loaded[name]

    def __setitem__(self, name: str, value: T) -> None:
        self._loaded[name] = value

    def __delitem__(self, name: str) -> None:
        del self._loaded[name]

    def __iter__(self) -> Iterator[str]:
        return iter(sorted({*self._installed_entries(), *self._loaded}, key=lambda name: (name != self._first, name)))

    def __len__(self) -> int:
        return len({*self._installed_entries(), *self._loaded})

    def __contains__(self, name: object) -> bool:
        return name in self._loaded or name in self._installed_entries()

    def _installed_entries(self) -> dict[str, EntryPoint]:
        found = {point.name: point for point in points_of(self.group)}
        if self._first and self._first not in found:
            raise EntryPointError(f"{self._first!r} is not installed in {self.group!r}; install this package again: {INSTALL}")
        return found


def points_of(group: str) -> tuple[EntryPoint, ...]:
    """The entry points of a group; those of two packages may have one name."""
    return _group_points(group, tuple(sys.path))


def load_point(point: EntryPoint) -> Any:
    """Return the object. Raises EntryPointError where it cannot be imported."""
    try:
        return point.load()
    except (ImportError, AttributeError) as error:
        raise EntryPointError(
            f"{point.name!r} of {point.group!r} is {point.value}, which cannot be imported ({error}). If it was moved or "
            f"removed, mend pyproject.toml and install again: {INSTALL}",
            missing=error.name or "" if isinstance(error, ModuleNotFoundError) else "",
        ) from error


def refuse_stale(group: str, name: str) -> None:
    """Raise EntryPointError where pyproject.toml has the name and the metadata of the installation is older."""
    installed = {point.name for point in points_of(group)}
    if (
        PROJECT.is_file()
        and name not in installed
        and name in _entered_points(PROJECT.read_text(encoding="utf-8")).get(group, {})
    ):
        raise EntryPointError(f"pyproject.toml enters {name!r}, but was installed before that; install again: {INSTALL}")


@lru_cache(maxsize=1)
def _entered_points(project: str) -> dict[str, dict[str, str]]:
    """Return the entry points of a pyproject.toml by group. It has the same text whenever a name is looked up."""
    return tomllib.loads(project)["project"].get("entry-points", {})


@cache
def _group_points(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    return tuple(_all_installed(path).select(group=group))


@cache
def _all_installed(_path: tuple[str, ...]) -> Any:  # of a type that has another name before Python 3.12
    """All entry points on this search path. They are read once, because that opens a file of every installed package."""
    return entry_points()
