"""The files of a package that a module takes: its own, and all that are imported on the way to it."""

import ast
from collections import deque
from collections.abc import Iterator, Sequence
from functools import lru_cache

from assets.code_qa.records.sources import CodeFile


def files_taken(modules: Sequence[str], files: Sequence[CodeFile]) -> tuple[CodeFile, ...]:
    """Return the files that importing these modules and calling their functions takes, in order of paths."""
    by_module = {file.module: file for file in files}
    taken: dict[str, CodeFile] = {}
    waiting = list(modules)
    while waiting:
        for name in _with_packages(waiting.pop()):
            file = by_module.get(name)
            if file is not None and name not in taken:
                taken[name] = file
                names = imported_names(file.module, file.path, file.text)
                waiting += by_module.keys() & names
    return tuple(sorted(taken.values(), key=lambda file: file.path))


def _with_packages(module: str) -> Iterator[str]:
    """Yield the packages around a module, which are imported before it, and the module."""
    name = ""
    for part in module.split("."):
        name = f"{name}.{part}".lstrip(".")
        yield name


@lru_cache(maxsize=512)
def parse_file(text: str) -> ast.Module:
    """Return the syntax tree of a file, empty where this Python cannot parse it. Whoever changes a tree has to copy it."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


@lru_cache(maxsize=1024)
def imported_names(module: str, path: str, text: str) -> tuple[str, ...]:
    """Return all names that a file may import, each `from a import b` as a and as a.b; those for type checkers are left out."""
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    found: dict[str, None] = {}
    for node in _run_nodes(parse_file(text)):
        if isinstance(node, ast.Import):
            found.update(dict.fromkeys(alias.name for alias in node.names))
        elif isinstance(node, ast.ImportFrom):
            base = _base_of(node, package)
            found[base] = None
            for alias in node.names:
                found[f"{base}.{alias.name}"] = None
    return tuple(found)


def _run_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield all nodes but those of blocks for type checkers, which never run."""
    waiting = deque([tree])
    while waiting:
        node = waiting.popleft()
        yield node
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        else:
            waiting += ast.iter_child_nodes(node)


def _base_of(node: ast.ImportFrom, package: str) -> str:
    """Return the module that names are imported from, with the leading dots resolved."""
    around: list[str] = []
    if node.level:
        parts = package.split(".")
        around = parts[: len(parts) - node.level + 1]
    return ".".join([*around, node.module] if node.module else around)
