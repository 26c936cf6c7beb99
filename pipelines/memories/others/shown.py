"""Files of this machine that the process of a memory is shown: its own folder, and packages that it may import.

Never among them: the data folder with its releases and runs, the data set at hand, the user's home, and names that begin with a
dot, which are where keys are kept.
"""

import sys
import sysconfig
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path

from pipelines.memories.own_code import ROOT, own_files

# Of this project: what a memory may import. Data, tests and the answers of the embedded model are not among it.
OURS = ("assets", "prompts", "pipelines/memories")


def import_path(modules: Sequence[str]) -> list[str]:
    """Return the folders in which the process finds modules: those of this process that hold packages or these modules."""
    packages = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    found: list[str] = []
    for place in sys.path:
        path = Path(place)
        is_library = place in packages or path.name in ("site-packages", "dist-packages", "lib-dynload")
        if is_library or path == ROOT or _holds_one(path, modules):
            found.append(place)
    # Where it is installed in a way that puts no folder on the path.
    if str(ROOT) not in found:
        found.append(str(ROOT))
    return found


def shown_of_packages(path: Sequence[str], *, hidden: Sequence[Path]) -> Iterator[str]:
    """Yield what is shown of the folders of packages on this path."""
    for place in map(Path, path):
        if place == ROOT:
            yield from (str(ROOT / name) for name in OURS)
            # Small modules beside the packages, such as errors.
            yield from map(str, sorted((ROOT / "pipelines").glob("*.py")))
        elif place.is_dir():
            yield from map(str, _shown_below(place, hidden=hidden))


def shown_of_file(file: Path, *, hidden: Sequence[Path]) -> list[str]:
    """Return what is shown of a memory's folder; where that holds a home or data, only the files that the memory imports."""
    folder = file.parent
    lies_within_data = any(folder.is_relative_to(one) for one in hidden)
    if lies_within_data or Path.home().is_relative_to(folder):
        return sorted(map(str, own_files(file)))
    return list(map(str, shown_of(folder, hidden=hidden)))


def shown_of(folder: Path, *, hidden: Sequence[Path]) -> Iterator[Path]:
    """Yield the folder, or of one that holds something hidden, or a name with a dot, all the rest of it."""
    with_a_dot = [path.resolve() for path in folder.glob(".*")]
    yield from _shown_below(folder, hidden=[*hidden, *with_a_dot])


def _shown_below(path: Path, *, hidden: Sequence[Path]) -> Iterator[Path]:
    real = path.resolve()
    if any(real.is_relative_to(one) for one in hidden):
        return
    if not any(one.is_relative_to(real) for one in hidden):
        yield path
        return
    for below in sorted(path.iterdir()):
        yield from _shown_below(below, hidden=hidden)


def _holds_one(path: Path, modules: Sequence[str]) -> bool:
    for name in modules:
        spec = find_spec(name)
        if spec is None or not spec.origin:
            continue
        if Path(spec.origin).is_relative_to(path) and path.is_absolute():
            return True
    return False
