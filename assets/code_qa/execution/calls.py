"""Calls that are worth trying, by rule: a docstring's examples, and literals after parameters and the function's constants."""

import ast
import doctest
import re
from collections.abc import Iterator, Sequence
from typing import Any

from assets.code_qa.packages.symbols import Function, parameters_to_give, parameters_with_default
from assets.engine.seeded_random import SeededRandom

TEXTS = (
    *("alpha beta", "Hello, World!", "a-b_c", "3.10", "1.2.3rc1", "12", "", "  padded  ", "snake_case_name", "CamelCaseName"),
    *("key=value", "https://example.org/a?b=c", "a,b;c", "2024-02-30", "10 KB", "5m", "x" * 12, "one two three", "<b>bold</b>"),
    *(
        "#ff8000",
        "A",
        "yes",
        "no",
        "1,2,3",
        "[link](to)",
        "Été",
        "v2.0",
        "foo.bar.baz",
        "user@example.org",
        "-7",
        "0.5",
        "C:/tmp",
    ),
)
INTEGERS = (0, 1, 2, 3, 5, 7, 10, 12, 16, 31, 60, 64, 90, 100, 127, 255, 256, 360, 1000, 1024, 3600, 65535, 86400, -1, -5)
FLOATS = (0.0, 0.25, 0.5, 1.5, 2.0, 2.75, 9.99, 100.5, -0.5, -3.25)
WORDS = ("one", "two", "three", "four", "five", "alpha", "beta", "gamma")
SIMPLE_TYPES = ("bool", "int", "float", "bytes", "str")
BY_NAME = {
    "int": "n num count number size index width height length seconds minutes days level limit start end pos position",
    "float": "ratio scale factor x y z t angle fraction precision tolerance value",
    "list": "items values points lines words strings parts sequence rows list data args",
}
WORD = re.compile(r"[A-Za-z]+")


def proposed_calls(function: Function, *, most: int, rng: SeededRandom) -> list[tuple[str, ...]]:
    """Arguments for calls of the function, each a literal or name=literal, the examples of its docstring first."""
    found: dict[tuple[str, ...], None] = dict.fromkeys(_examples(function))
    pools = [_pool(one, None, function, rng=rng) for one in parameters_to_give(function)]
    optional = [(one.arg, _pool(one, default, function, rng=rng)) for one, default in parameters_with_default(function)]
    # As many tries as make that many different calls likely, and no more: a pool may be small.
    for _ in range(4 * most):
        if len(found) >= most:
            break
        given = [rng.choice(pool) for pool in pools]
        named = rng.sample(optional, 1) if optional and (not given or rng.bernoulli(0.4)) else []
        found.setdefault((*given, *(f"{name}={rng.choice(pool)}" for name, pool in named)))
    return list(found)[:most]


def canonical(argument: ast.expr) -> str | None:
    """A literal in its one form; None for what is no literal."""
    try:
        value: Any = ast.literal_eval(argument)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return repr(value)


def _examples(function: Function) -> Iterator[tuple[str, ...]]:
    """The arguments of the calls with literals that the docstring shows."""
    try:
        examples = doctest.DocTestParser().get_examples(ast.get_docstring(function) or "")
    except ValueError:
        return
    for example in examples:
        try:
            tree = ast.parse(example.source)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and _called_name(node) == function.name:
                positional = [canonical(one) for one in node.args]
                named = [(one.arg, canonical(one.value)) for one in node.keywords]
                if None not in positional and all(name and value is not None for name, value in named):
                    yield (*(one for one in positional if one), *(f"{name}={value}" for name, value in named))


def _called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _pool(parameter: ast.arg, default: ast.expr | None, function: Function, *, rng: SeededRandom) -> list[str]:
    """Literals that the parameter may take, without repetition."""
    kinds = _kinds(parameter, default)
    values: list[Any] = []
    for kind in kinds:
        values += _values(kind, function, rng=rng)
    return list(dict.fromkeys(map(repr, values)))


def _kinds(parameter: ast.arg, default: ast.expr | None) -> Sequence[str]:
    """What the parameter seems to want: by its annotation, its default, its name; else several kinds."""
    if parameter.annotation is not None:
        text = ast.unparse(parameter.annotation)
        words = WORD.findall(text)
        if any(word in words for word in ("list", "List", "Sequence", "Iterable", "Tuple", "tuple", "Collection")):
            inner = next((word for word in words if word in SIMPLE_TYPES), "str")
            return (f"list {inner}",)
        if any(word in words for word in ("dict", "Dict", "Mapping")):
            return ("dict",)
        named = [kind for kind in SIMPLE_TYPES if kind in words]
        if named:
            return named
    if isinstance(default, ast.Constant) and type(default.value).__name__ in SIMPLE_TYPES:
        return (type(default.value).__name__,)
    for kind, names in BY_NAME.items():
        if parameter.arg in names.split():
            return ("list str", "list int", "list float") if kind == "list" else (kind, "float" if kind == "int" else "int")
    return ("str", "str", "int", "float", "list str", "list int", "list pair", "tuple int")


def _values(kind: str, function: Function, *, rng: SeededRandom) -> list[Any]:
    own = [node.value for node in ast.walk(function) if isinstance(node, ast.Constant)]
    match kind:
        case "bool":
            return [True, False]
        case "int":
            near = [value + step for value in own if type(value) is int and abs(value) < 10**9 for step in (-1, 0, 1)]
            return [*near, *INTEGERS]
        case "float":
            return [*(value for value in own if type(value) is float), *FLOATS]
        case "bytes":
            return [text.encode() for text in TEXTS]
        case "dict":
            return [{word: rng.integer_below(9) for word in rng.sample(WORDS, size)} for size in (1, 2, 3)]
        case "list int":
            return [[rng.choice(INTEGERS) for _ in range(size)] for size in (1, 2, 3, 4, 5)]
        case "list float":
            return [[rng.choice(FLOATS) for _ in range(size)] for size in (2, 3, 4)]
        case "list pair":
            return [[(rng.choice(INTEGERS), rng.choice(INTEGERS)) for _ in range(size)] for size in (1, 2, 3, 4)]
        case "tuple int":
            return [tuple(rng.choice(INTEGERS[:16]) for _ in range(size)) for size in (2, 2, 2, 4, 4, 6)]
        case "list str" | "list bool" | "list bytes":
            return [rng.sample(WORDS, size) for size in (1, 2, 3, 4)]
        case _:
            said = [value for value in own if isinstance(value, str) and 0 < len(value) <= 20 and "\n" not in value]
            mixed = [f"{rng.choice(TEXTS)} {value}".strip() for value in said[:6]]
            return [*said, *mixed, *TEXTS]
