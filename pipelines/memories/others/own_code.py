"""The files that a memory in a file of its own consists of: the file, and what it imports and names in its folder."""

import ast
from collections.abc import Iterable, Iterator
from itertools import product
from pathlib import Path

from assets.records.limits import MB
from assets.records.paths import PathRefused, leads_inside, read_relative_path

MOST_BYTES = 16 * MB  # of a file that code names: larger ones would be read for every run, and kept with it


def imported_files(path: Path) -> set[Path]:
    """Return the file with what it imports, within functions too."""
    return _with_imports({path}, folder=path.parent)


def own_files(path: Path, *, texts: Iterable[str] = ()) -> set[Path]:
    """Return the same, and the files in its folder that its code names, or that `texts` do, such as those of its settings.

    Of a folder that holds the user's home nothing is read but imports.
    """
    folder = path.parent
    files = imported_files(path)
    named = set[Path]()
    while not Path.home().is_relative_to(folder):
        named = {*_named_files(files, folder=folder, texts=texts)} - files
        if not named:
            break
        files |= named | _with_imports({file for file in named if file.suffix == ".py"}, folder=folder)
    return files


def _named_files(files: Iterable[Path], *, folder: Path, texts: Iterable[str]) -> Iterator[Path]:
    """Yield the files in the folder, or in a folder in it that is named too, whose names stand in the code or the texts."""
    paths = _named_paths(files, folder=folder, texts=texts)
    places = [folder, *(path for path in paths if path.is_dir())]
    for path in paths:
        for place in places:
            found = place / path.relative_to(folder)
            if found.is_file() and found.stat().st_size <= MOST_BYTES and leads_inside(folder, found):
                yield found


def _named_paths(files: Iterable[Path], *, folder: Path, texts: Iterable[str] = ()) -> list[Path]:
    """Return what the files or the texts name, as paths in the folder, whether these are there or not."""
    names = {text.removeprefix(f"{folder.resolve()}/") for text in texts}
    for file in files:
        for node in _nodes(file):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                names.add(node.value)
    return [folder / name for name in sorted(names) if _is_plain(name)]


def _is_plain(name: str) -> bool:
    """Return True for a path that leads to no other folder, and to nothing whose name begins with a dot."""
    try:
        return not any(part.startswith(".") for part in Path(read_relative_path(name)).parts)
    except PathRefused:
        return False


def _nodes(file: Path) -> list[ast.AST]:
    """Return the parts of a file's code; nothing of one that is none: its import ends with an error."""
    if file.suffix != ".py":
        return []
    try:
        return list(ast.walk(ast.parse(file.read_bytes())))
    except (SyntaxError, ValueError, RecursionError):
        return []


def _with_imports(files: set[Path], *, folder: Path) -> set[Path]:
    found = set[Path]()
    places = {folder}
    waiting = set(files)
    while waiting:
        file = waiting.pop()
        found.add(file)
        named = {path for path in _named_paths([file], folder=folder) if path.is_dir()}
        if not named <= places:
            # All may import from a folder that one puts on the path, such as `src`.
            places |= named
            waiting |= found
        waiting |= {*_imported_files(file, folder=folder, places=places)} - found
    return found


def _imported_files(file: Path, *, folder: Path, places: Iterable[Path]) -> Iterator[Path]:
    for name, place in product(_names(file, folder=folder), places):
        for end in range(1, len(name) + 1):
            module = place.joinpath(*name[:end])
            for path in (module.parent / f"{module.name}.py", module / "__init__.py"):
                # What a link leads to outside is not the memory's.
                if path.is_file() and leads_inside(folder, path):
                    yield path


def _names(file: Path, *, folder: Path) -> Iterator[tuple[str, ...]]:
    """Every name that the file imports, from the folder on, in its parts."""
    package = file.relative_to(folder).parent.parts
    for node in _nodes(file):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield tuple(name.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            module = node.module.split(".") if node.module else ()
            for name in node.names:
                yield (*above, *module, name.name)
