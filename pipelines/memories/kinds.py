"""Kinds of memories, and what their code is: ours, of another installed package, or a file's class.

Kinds are entry points. What runs in this process is decided by the package that enters a kind, and not by its name.
"""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path
from typing import Any, Protocol, cast, runtime_checkable

from assets.entry_points import load_point, points_of
from assets.records.problems import nearest_first
from pipelines.errors import EvaluationError
from pipelines.memories.built_in.base import CopiedMemory
from pipelines.memories.contract import MemorySpec
from pipelines.memories.others.private_imports import imports_in_folder, with_plain_names

GROUP = "amemgym.memories"
DISTRIBUTION = "amemgym-synth"  # whose kinds are ours
FOLDER = Path(__file__).parent  # of the code of ours
Factory = Callable[..., object]


@runtime_checkable
class AddressedKind(Protocol):
    """A kind of ours that is reached at an address: its class says how one is written."""

    def spec_at(self, address: str) -> MemorySpec | None:
        """Return the memory at the address; None for a text that is no address of this kind."""
        ...

    def locate(self, spec: MemorySpec) -> MemorySpec:
        """Return the memory of a file, with its address apart from what everybody may read. Raises EvaluationError."""
        ...


def factory_of(kind: str) -> Factory:
    """Return what makes memories of the kind. Raises EvaluationError when nobody brings it, or not as it says."""
    own = own_class(kind)
    if own is not None:
        return own
    path, _, attribute = kind.rpartition(":")
    if path.endswith(".py"):
        return _from_source(Path(path), attribute)
    point = entry_point_of(kind)
    with _errors_of_others(
        f"The package that brings the kind {kind!r} cannot be imported from {point.value!r}; install it anew, with all that it "
        "needs"
    ):
        return cast(Factory, point.load())


@contextmanager
def _errors_of_others(sentence: str) -> Generator[None]:
    """Raise EvaluationError with this sentence for whatever comes out of foreign code."""
    try:
        yield
    except (Exception, SystemExit) as error:  # anything may
        raise EvaluationError(with_plain_names(f"{sentence}: {type(error).__name__}: {error}")) from error


def entry_point_of(kind: str) -> EntryPoint:
    """Return what the package says that brings the kind. Raises EvaluationError where none does."""
    point = installed_kinds().get(kind)
    if point is None:
        known = nearest_first(kind, [*own_kinds(), *installed_kinds()])
        raise EvaluationError(f"There is no memory of kind {kind!r}. The kinds are: {known}. Is its package installed?")
    return point


def existing_file(path: Path) -> Path:
    """Return the path. Raises EvaluationError where it is no file."""
    if not path.is_file():
        raise EvaluationError(f"There is no file {path} with a memory; give FILE.py:CLASS.")
    return path


@cache
def _from_source(path: Path, attribute: str) -> Factory:
    """The class of that name in the file, which finds in its own folder what it imports."""
    imports = imports_in_folder(existing_file(path).parent)
    with _errors_of_others(f"{path} has no usable class {attribute!r}"):
        found = getattr(imports.load_file(path), attribute)
    if not callable(found):
        raise EvaluationError(f"{path} has no usable class {attribute!r}: it is a value of type {type(found).__name__}.")
    return found


def is_ours(kind: str) -> bool:
    """Return True where the code behind the kind is ours, and so needs neither a thread nor a check."""
    return _in_process(kind) is not None


def is_service(kind: str) -> bool:
    """Return True for a memory of others that is reached over a network, or by a command, and runs no code of its own here."""
    return isinstance(own_class(kind), AddressedKind)


def embeds(kind: str) -> bool:
    """Return True where the memory may ask for embeddings; of code that is not ours nobody knows."""
    own = _in_process(kind)
    return own is None or own.embeds


def own_class(kind: str) -> type[Any] | None:
    """Return the class of a kind that is ours; None for another kind. Imports it."""
    point = own_kinds().get(kind)
    return load_point(point) if point else None


def own_kinds() -> dict[str, EntryPoint]:
    """Return what this package enters, by kind."""
    return {point.name: point for point in points_of(GROUP) if _is_own(point)}


def installed_kinds() -> dict[str, EntryPoint]:
    """Return what other installed packages say they bring, by kind."""
    return {point.name: point for point in points_of(GROUP) if not _is_own(point)}


def _is_own(point: EntryPoint) -> bool:
    return point.dist is not None and _name_of(point.dist) == DISTRIBUTION


@cache
def _name_of(distribution: Distribution) -> str:
    """Return its name, for which all its metadata are parsed."""
    return distribution.name


def _in_process(kind: str) -> type[CopiedMemory] | None:
    own = own_class(kind)
    return own if own is not None and issubclass(own, CopiedMemory) else None
