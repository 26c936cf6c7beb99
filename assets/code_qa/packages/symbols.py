"""The symbols of a file, by its syntax tree: functions, classes and constants, and the functions that seem to be pure."""

import ast
from collections.abc import Iterator

from assets.code_qa.packages.imports import parse_file
from assets.code_qa.records.sources import CodeFile, CodeSymbol, SymbolKind

MOST_LINES = 60  # of a symbol's source
MOST_PARAMETERS = 4  # that a call has to give: of more, hardly any tried call fits
# What depends on more than its arguments, or does more than return a value.
IMPURE_MODULES = """
asyncio builtins ctypes datetime gc getpass importlib inspect io locale logging multiprocessing os pathlib pickle platform pwd
random secrets shutil signal site socket ssl subprocess sys sysconfig tempfile threading time traceback uuid warnings weakref
"""
IMPURE_FUNCTIONS = """
__import__ breakpoint compile delattr eval exec exit globals hash id input locals open print setattr vars
"""
IMPURE_NAMES = frozenset((*IMPURE_MODULES.split(), *IMPURE_FUNCTIONS.split()))
# Names in annotations of parameters for which there are literals.
LITERAL_TYPES = """
Any AnyStr Dict Iterable List Literal Mapping None Optional Sequence Text Tuple Union
bool bytes dict float int list object str tuple t typing
"""
LITERAL_NAMES = frozenset(LITERAL_TYPES.split())
CACHES = frozenset(("cache", "lru_cache"))
Function = ast.FunctionDef


def symbols_of(file: CodeFile) -> Iterator[CodeSymbol]:
    """Yield the public symbols at the file's top level, in order of their lines; none of a module that is not public."""
    if not _is_public(file):
        return
    lines = file.text.split("\n")
    for node in parse_file(file.text).body:
        kind, name = _kind_and_name(node)
        if kind is None or name.startswith("_"):
            continue
        first = node.lineno
        for decorator in getattr(node, "decorator_list", ()):
            first = min(first, decorator.lineno)
        last = node.end_lineno or node.lineno
        yield CodeSymbol(
            symbol_id=f"{file.module}.{name}",
            kind=kind,
            path=file.path,
            line=first,
            signature=_signature(node),
            source="\n".join(lines[first - 1 : min(last, first - 1 + MOST_LINES)]),
        )


def _is_public(file: CodeFile) -> bool:
    return not any(part.startswith("_") for part in file.module.split("."))


def functions_in(file: CodeFile) -> list[Function]:
    """Return the functions at the file's top level."""
    return [node for node in parse_file(file.text).body if isinstance(node, ast.FunctionDef)]


def function_in(file: CodeFile, name: str) -> Function:
    """Return the function of this name. Raises LookupError."""
    for function in functions_in(file):
        if function.name == name:
            return function
    raise LookupError(f"the function {name} of {file.path}")


def callable_names(file: CodeFile) -> list[str]:
    """Return public functions that take literals and seem to depend on nothing else, in order of their lines."""
    if not _is_public(file):
        return []
    defined: dict[str, Function] = {}
    twice: set[str] = set()
    for function in functions_in(file):
        if function.name in defined:
            twice.add(function.name)
        defined[function.name] = function
    found: list[str] = []
    for name, function in defined.items():
        # Which of two definitions a call would reach depends on how the module was run.
        is_called = not name.startswith("_") and name not in twice
        if is_called and _takes_literals(function) and _seems_pure(name, defined):
            found.append(name)
    return found


def parameters_to_give(function: Function) -> list[ast.arg]:
    """Return the positional parameters without a default."""
    positional = [*function.args.posonlyargs, *function.args.args]
    return positional[: len(positional) - len(function.args.defaults)]


def parameters_with_default(function: Function) -> list[tuple[ast.arg, ast.expr]]:
    """Return the parameters that may be left out, each with its default."""
    positional = [*function.args.posonlyargs, *function.args.args]
    optional = list(zip(positional[len(parameters_to_give(function)) :], function.args.defaults, strict=True))
    for parameter, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True):
        if default is not None:
            optional.append((parameter, default))
    return optional


def _kind_and_name(node: ast.stmt) -> tuple[SymbolKind | None, str]:
    match node:
        case ast.FunctionDef(name=name):
            return "function", name
        case ast.ClassDef(name=name):
            return "class", name
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)) if name.isupper():
            return "constant", name
        case _:
            return None, ""


def _signature(node: ast.stmt) -> str:
    match node:
        case ast.FunctionDef():
            returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
            return f"def {node.name}({ast.unparse(node.args)}){returns}"
        case ast.ClassDef():
            bases = ", ".join(ast.unparse(base) for base in node.bases)
            return f"class {node.name}({bases})" if bases else f"class {node.name}"
        case _:
            return ast.unparse(node).split("\n")[0][:200]


def _takes_literals(function: Function) -> bool:
    """Return True where a call needs few parameters, and none of a type that has no literals."""
    needed = parameters_to_give(function)
    if len(needed) > MOST_PARAMETERS or None in function.args.kw_defaults or _is_wrapped(function):
        return False
    if not needed and not parameters_with_default(function):
        return False
    return all(parameter.annotation is None or _names_in(parameter.annotation) <= LITERAL_NAMES for parameter in needed)


def _is_wrapped(function: Function) -> bool:
    """Return True where it has a decorator other than a cache."""
    return any(CACHES.isdisjoint(_names_in(decorator)) for decorator in function.decorator_list)


def _names_in(annotation: ast.expr) -> set[str]:
    """Return the names of an annotation, which may be quoted; a placeholder where it cannot be parsed."""
    tree: ast.AST = annotation
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            tree = ast.parse(annotation.value, mode="eval")
        except SyntaxError:
            return {"?"}
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            names.add(node.attr)
    return names


def _seems_pure(name: str, defined: dict[str, Function]) -> bool:
    """Return True where neither the function nor those of its file that it names use what depends on more than arguments."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        current = waiting.pop()
        if current in seen:
            continue
        seen.add(current)
        for node in ast.walk(defined[current]):
            if isinstance(node, ast.Global | ast.Nonlocal | ast.Yield | ast.YieldFrom | ast.Await | ast.Import):
                return False
            if isinstance(node, ast.Name):
                if node.id in IMPURE_NAMES:
                    return False
                if node.id in defined:
                    waiting.append(node.id)
    return any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(defined[name]))
