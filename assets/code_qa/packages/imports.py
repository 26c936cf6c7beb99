"""Which files of a package a module takes: its own, and all that are imported on the way to it."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from assets.code_qa.records.sources import CodeFile


def files_taken(modules: Sequence[str], files: Sequence[CodeFile]) -> tuple[CodeFile, ...]:
    """The files that importing these modules and calling their functions takes, in order of paths."""
    by_module = {file.module: file for file in files}
    taken: dict[str, CodeFile] = {}
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        for name in (*_packages_of(module), module):
            if name in by_module and name not in taken:
                taken[name] = by_module[name]
                waiting.extend(_imported(by_module[name], by_module))
    return tuple(sorted(taken.values(), key=lambda file: file.path))


def _packages_of(module: str) -> Iterator[str]:
    """The packages around a module, which are imported before it."""
    parts = module.split(".")
    yield from (".".join(parts[:length]) for length in range(1, len(parts)))


def _imported(file: CodeFile, known: Mapping[str, CodeFile]) -> list[str]:
    return [name for name in imported_names(file.module, file.path, file.text) if name in known]


@lru_cache(maxsize=512)
def parsed(text: str) -> ast.Module:
    """The syntax tree of a file, empty where this Python cannot parse it. Whoever changes a tree has to copy it."""
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Module(body=[], type_ignores=[])


@lru_cache(maxsize=1024)
def imported_names(module: str, path: str, text: str) -> tuple[str, ...]:
    """All names that a file may import, each `from a import b` as a and as a.b; those for type checkers alone are left out."""
    tree = parsed(text)
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for statement in node.body
        for inner in ast.walk(statement)
    }
    package = module if path.endswith("__init__.py") else module.rpartition(".")[0]
    found: dict[str, None] = {}
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.Import):
            found.update(dict.fromkeys(alias.name for alias in node.names))
        elif isinstance(node, ast.ImportFrom):
            around = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*around, *([node.module] if node.module else [])])
            found.update(dict.fromkeys([base, *(f"{base}.{alias.name}" for alias in node.names)]))
    return tuple(found)
