"""Files of this machine that the process of a memory is shown: its own folder, and packages that it may import.

Never among them: the data folder with its releases and runs, the data set at hand, the user's home, and names that begin with a
dot, which are where keys are kept, and what a link in a memory's folder leads to outside of it.
"""

import os
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from assets.records.paths import leads_inside
from pipelines.errors import EvaluationError
from pipelines.memories.others.own_code import imported_files
from pipelines.memories.others.private_imports import ROOT

# Of this project: what a memory may import. Data, tests and the answers of the embedded model are not among it.
OURS = ("assets", "prompts", "pipelines/memories")


def import_path(modules: Sequence[str], *, python: str = "") -> list[str]:
    """Return the folders in which the process finds modules: those of this process that hold packages or these modules.

    Ours is not among them: see `private_imports.py`. Packages of the environment of `python`, where it is given, come before
    those of this process. Raises EvaluationError for one that cannot be used.
    """
    library = [folder for folder in sys.path if "site-packages" not in folder and "dist-packages" not in folder]
    places = [*library, packages_of(Path(python)), *sys.path] if python else sys.path
    packages = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    found: list[str] = []
    for place in dict.fromkeys(places):
        path = Path(place)
        is_library = place in packages or path.name in ("site-packages", "dist-packages", "lib-dynload")
        if is_library or _holds_one(path, modules):
            found.append(place)
    return found


def packages_of(python: Path) -> str:
    """Return the packages' folder of a virtual environment, by its interpreter. Nothing of it is run for that."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    folder = Path(os.path.abspath(python)).parents[1] / "lib" / version / "site-packages"  # noqa: PTH100 - no link is followed
    if not folder.is_dir():
        raise EvaluationError(
            f"The setting python of a memory is {str(python)!r}, and {folder} is no folder; give the interpreter of a virtual "
            f"environment of {version}, as in python: /path/to/venv/bin/python."
        )
    return str(folder)


def shown_of_packages(path: Sequence[str], *, hidden: Sequence[Path]) -> Iterator[str]:
    """Yield what is shown of this project, and of the folders of packages on this path."""
    yield from (str(ROOT / name) for name in OURS)
    # Small modules beside the packages, such as errors.
    yield from map(str, sorted((ROOT / "pipelines").glob("*.py")))
    for place in map(Path, path):
        if place.is_dir():
            yield from map(str, _shown_below(place, hidden=hidden))


def shown_of_file(file: Path, *, hidden: Sequence[Path]) -> list[str]:
    """Return what is shown of a memory's folder; where that holds a home or data, only the files that the memory imports."""
    if _is_private(file.parent, hidden=hidden):
        return sorted(map(str, imported_files(file)))
    return list(map(str, shown_of(file.parent, hidden=hidden)))


def left_out_links(file: Path, *, hidden: Sequence[Path]) -> list[str]:
    """Return the links in a memory's folder that lead out of it, by their paths there: what they lead to is not shown."""
    folder = file.parent
    found: list[str] = []
    for place, folders, files in () if _is_private(folder, hidden=hidden) else os.walk(folder):
        paths = [Path(place, name) for name in sorted([*folders, *files]) if not name.startswith(".")]
        found += [path.relative_to(folder).as_posix() for path in paths if path.is_symlink() and not leads_inside(folder, path)]
        # The links of a virtual environment lead to its interpreter.
        folders[:] = [path.name for path in paths if path.name in folders and not (path / "pyvenv.cfg").is_file()]
    return found


def _is_private(folder: Path, *, hidden: Sequence[Path]) -> bool:
    return any(folder.is_relative_to(place) for place in hidden) or Path.home().is_relative_to(folder)


def shown_of(folder: Path, *, hidden: Sequence[Path]) -> Iterator[Path]:
    """Yield the folder, or of one that holds something hidden, or a name with a dot, all the rest of it that lies in it."""
    with_a_dot = [Path(os.path.realpath(path)) for path in folder.glob(".*")]
    for path in _shown_below(folder, hidden=[*hidden, *with_a_dot]):
        if leads_inside(folder, path):
            yield path


def _shown_below(path: Path, *, hidden: Sequence[Path]) -> Iterator[Path]:
    real = Path(os.path.realpath(path))
    if any(real.is_relative_to(place) for place in hidden) or not path.exists():
        return
    if not _holds_one_of(hidden, real):
        yield path
        return
    for below in sorted(path.iterdir()):
        # A link may lead to a folder around this one.
        if not below.is_symlink() or not _holds_one_of(hidden, Path(os.path.realpath(below))):
            yield from _shown_below(below, hidden=hidden)


def _holds_one_of(hidden: Sequence[Path], real: Path) -> bool:
    return any(place.is_relative_to(real) for place in hidden)


def _holds_one(path: Path, modules: Sequence[str]) -> bool:
    for name in modules:
        spec = find_spec(name)
        if spec is None or not spec.origin:
            continue
        if Path(spec.origin).is_relative_to(path) and path.is_absolute():
            return True
    return False
