"""The files that a memory in a file of its own consists of: the file, and what it imports from its folder and those below."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

from pipelines.errors import EvaluationError

ROOT = Path(__file__).parents[2]
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
    for file in sorted(_with_imports({path}, folder=folder) - {path}):
        name = file.relative_to(folder)
        for before in earlier:
            if Path(before, name).is_file():
                raise EvaluationError(
                    f"{path} imports {name}, and {before} has one too, of which Python takes the first; evaluate the memories "
                    "of these folders in two commands, or give the files different names."
                )


def own_files(path: Path) -> set[Path]:
    """Return the file with what it imports, within functions too."""
    return _with_imports({path}, folder=path.parent)


def _with_imports(files: set[Path], *, folder: Path) -> set[Path]:
    found = set[Path]()
    waiting = set(files)
    while waiting:
        file = waiting.pop()
        found.add(file)
        waiting |= {*_imported(file, folder=folder)} - found
    return found


def _imported(file: Path, *, folder: Path) -> Iterator[Path]:
    for name in _names(file, folder=folder):
        # A name that this program has is its own wherever it is asked for, because the memory's folder is searched last.
        if (ROOT / name[0] / "__init__.py").is_file():
            continue
        for end in range(1, len(name) + 1):
            place = folder.joinpath(*name[:end])
            yield from filter(Path.is_file, (place.parent / f"{place.name}.py", place / "__init__.py"))


def _names(file: Path, *, folder: Path) -> Iterator[tuple[str, ...]]:
    """Every name that the file imports, from the folder on, in its parts."""
    package = file.relative_to(folder).parent.parts
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError, RecursionError):
        return  # it is no part of the memory: its import ends with an error
    for node in nodes:
        if isinstance(node, ast.Import):
            for one in node.names:
                yield tuple(one.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            module = node.module.split(".") if node.module else ()
            for one in node.names:
                yield (*above, *module, one.name)
