"""The files that a memory in a file of its own consists of: the file, and what it imports from its folder and those below."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from pipelines.evaluation.errors import EvaluationError

ROOT = Path(__file__).parents[3]
_of_memories: set[str] = set()  # the places of sys.path that are folders of memories


def search_folder_of(path: Path) -> None:
    """Let Python find what the file imports from its folder, after everything else.

    Raises EvaluationError where it would find another file: one of that name in the folder of a memory before.
    """
    folder = path.parent
    _of_memories.add(str(folder))
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    earlier = [place for place in sys.path[: sys.path.index(str(folder))] if place in _of_memories]
    for name in sorted(file.relative_to(folder) for file in _with_imports({path}, folder=folder) - {path}):
        before = next((place for place in earlier if Path(place, name).is_file()), None)
        if before:
            raise EvaluationError(
                f"{path} imports {name}, and {before} has one too, of which Python takes the first; evaluate the memories of "
                "these folders in two commands, or give the files different names."
            )


def own_files(path: Path) -> set[Path]:
    """The file with what it imports, within functions too; beside it, whatever is loaded."""
    loaded = (getattr(module, "__file__", None) for module in list(sys.modules.values()))
    beside = {Path(file) for file in loaded if file and Path(file).parent == path.parent}
    return _with_imports({path, *beside}, folder=path.parent)


def _with_imports(files: set[Path], *, folder: Path) -> set[Path]:
    found, waiting = set[Path](), list(files)
    while waiting:
        file = waiting.pop()
        found.add(file)
        waiting += [one for one in _imported(file, folder=folder) if one not in found]
    return found


def _imported(file: Path, *, folder: Path) -> Iterator[Path]:
    for name in _names(file, folder=folder):
        # A name that this program has is its own wherever it is asked for, because the memory's folder is searched last.
        if (ROOT / name[0] / "__init__.py").is_file():
            continue
        for end in range(1, len(name) + 1):
            place = folder.joinpath(*name[:end])
            yield from (one for one in (place.parent / f"{place.name}.py", place / "__init__.py") if one.is_file())


def _names(file: Path, *, folder: Path) -> Iterator[tuple[str, ...]]:
    """Every name that the file imports, from the folder on, in its parts."""
    package = file.relative_to(folder).parent.parts
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError, RecursionError):
        return  # it is no part of the memory: its import ends with an error
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (tuple(one.name.split(".")) for one in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            module = node.module.split(".") if node.module else ()
            yield from ((*above, *module, one.name) for one in node.names)
