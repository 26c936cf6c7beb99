"""The symbols of a file, by its syntax tree: functions, classes and constants, and which functions seem to be pure."""

import ast
from collections.abc import Iterator

from assets.code_qa.packages.imports import parsed
from assets.code_qa.records.sources import CodeFile, CodeSymbol, SymbolKind

MOST_LINES = 60  # of a symbol's source
MOST_PARAMETERS = 4  # that a call has to give
# What depends on more than its arguments, or does more than return a value.
IMPURE_MODULES = frozenset(
    (
        *(
            "asyncio",
            "builtins",
            "ctypes",
            "datetime",
            "gc",
            "getpass",
            "importlib",
            "inspect",
            "io",
            "locale",
            "logging",
            "multiprocessing",
        ),
        *("os", "pathlib", "pickle", "platform", "pwd", "random", "secrets", "shutil", "signal", "site", "socket", "ssl"),
        *("subprocess", "sys", "sysconfig", "tempfile", "threading", "time", "traceback", "uuid", "warnings", "weakref"),
    )
)
IMPURE_NAMES = frozenset(
    (
        *("__import__", "breakpoint", "compile", "delattr", "eval", "exec", "exit", "globals", "hash", "id", "input", "locals"),
        *("open", "print", "setattr", "vars"),
    )
)
# Annotations of parameters for which there are literals.
LITERAL_TYPES = frozenset(
    (
        *(
            "Any",
            "AnyStr",
            "Dict",
            "Iterable",
            "List",
            "Literal",
            "Mapping",
            "None",
            "Optional",
            "Sequence",
            "Text",
            "Tuple",
            "Union",
        ),
        *("bool", "bytes", "dict", "float", "int", "list", "object", "str", "tuple", "t", "typing"),
    )
)
Function = ast.FunctionDef


def symbols_of(file: CodeFile) -> Iterator[CodeSymbol]:
    """The public symbols at the file's top level, in order of their lines; none of a module that is not public."""
    if any(part.startswith("_") for part in file.module.split(".")):
        return
    lines = file.text.split("\n")
    for node in parsed(file.text).body:
        kind, name = _kind_and_name(node)
        if kind is None or name.startswith("_"):
            continue
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        last = node.end_lineno or node.lineno
        named = isinstance(node, ast.FunctionDef | ast.ClassDef)
        yield CodeSymbol(
            symbol_id=f"{file.module}.{name}",
            kind=kind,
            path=file.path,
            line=first,
            end_line=last,
            signature=_signature(node),
            summary=((ast.get_docstring(node) or "").strip().splitlines() or [""])[0] if named else "",
            source="\n".join(lines[first - 1 : min(last, first - 1 + MOST_LINES)]),
            parameters=tuple(one.arg for one in _all_parameters(node)) if isinstance(node, ast.FunctionDef) else (),
        )


def functions_in(file: CodeFile) -> list[Function]:
    """The functions at the file's top level."""
    return [node for node in parsed(file.text).body if isinstance(node, ast.FunctionDef)]


def function_in(file: CodeFile, name: str) -> Function:
    """The function of this name. Raises LookupError."""
    for function in functions_in(file):
        if function.name == name:
            return function
    raise LookupError(f"the function {name} of {file.path}")


def callable_names(file: CodeFile) -> list[str]:
    """Public functions that literals may be given to and that seem to depend on nothing else, in order of their lines."""
    if any(part.startswith("_") for part in file.module.split(".")):
        return []
    defined = {function.name: function for function in functions_in(file)}
    names = [function.name for function in functions_in(file)]
    once = [name for name in names if names.count(name) == 1 and not name.startswith("_")]
    return [name for name in once if _takes_literals(defined[name]) and _seems_pure(name, defined)]


def parameters_to_give(function: Function) -> list[ast.arg]:
    """The positional parameters without a default."""
    positional = [*function.args.posonlyargs, *function.args.args]
    return positional[: len(positional) - len(function.args.defaults)]


def parameters_with_default(function: Function) -> list[tuple[ast.arg, ast.expr]]:
    """The parameters that may be left out, each with its default."""
    positional = [*function.args.posonlyargs, *function.args.args]
    optional = zip(positional[len(positional) - len(function.args.defaults) :], function.args.defaults, strict=True)
    keywords = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    return [*optional, *((one, default) for one, default in keywords if default is not None)]


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


def _all_parameters(function: Function) -> list[ast.arg]:
    return [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]


def _takes_literals(function: Function) -> bool:
    """Whether a call needs some parameters, few, and none of a type that has no literals."""
    needed = parameters_to_give(function)
    given = needed or [one for one, _ in parameters_with_default(function)]
    if (
        not given
        or len(needed) > MOST_PARAMETERS
        or _is_wrapped(function)
        or any(default is None for default in function.args.kw_defaults)
    ):
        return False
    return all(one.annotation is None or _names(one.annotation) <= LITERAL_TYPES for one in needed)


def _is_wrapped(function: Function) -> bool:
    """Whether a decorator stands before it, other than a cache."""
    return any(not {"cache", "lru_cache"} & _names(one) for one in function.decorator_list)


def _names(annotation: ast.expr) -> set[str]:
    text = annotation.value if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str) else None
    try:
        tree: ast.AST = ast.parse(text, mode="eval") if text is not None else annotation
    except SyntaxError:
        return {"?"}
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _seems_pure(name: str, defined: dict[str, Function]) -> bool:
    """Whether neither the function nor the functions of its file that it names use what depends on more than arguments."""
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
                if node.id in IMPURE_MODULES | IMPURE_NAMES:
                    return False
                if node.id in defined:
                    waiting.append(node.id)
    return any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(defined[name]))
