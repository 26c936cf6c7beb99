"""Calls that are worth trying, by rule: a docstring's examples, and literals after parameters and the function's constants."""

import ast
import doctest
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from assets.code_qa.packages.symbols import Function, parameters_to_give, parameters_with_default
from assets.engine.seeded_random import SeededRandom

# What calls are tried with: an order that changes, changes the calls of every release.
TEXTS = (
    *("alpha beta", "Hello, World!", "a-b_c", "3.10", "1.2.3rc1", "12", "", "  padded  ", "snake_case_name", "CamelCaseName"),
    *("key=value", "https://example.org/a?b=c", "a,b;c", "2024-02-30", "10 KB", "5m", "x" * 12, "one two three", "<b>bold</b>"),
    *("#ff8000", "A", "yes", "no", "1,2,3", "[link](to)", "Été", "v2.0", "foo.bar.baz", "user@example.org", "-7", "0.5"),
    "C:/tmp",
)
INTEGERS = (0, 1, 2, 3, 5, 7, 10, 12, 16, 31, 60, 64, 90, 100, 127, 255, 256, 360, 1000, 1024, 3600, 65535, 86400, -1, -5)
FLOATS = (0.0, 0.25, 0.5, 1.5, 2.0, 2.75, 9.99, 100.5, -0.5, -3.25)
WORDS = ("one", "two", "three", "four", "five", "alpha", "beta", "gamma")
SIMPLE_TYPES = ("bool", "int", "float", "bytes", "str")
LARGE = 10**9  # an integer from which on a call may take all memory
MOST_LETTERS = 20  # of a function's own text that is given to it
BY_NAME = {
    "int": "n num count number size index width height length seconds minutes days level limit start end pos position",
    "float": "ratio scale factor x y z t angle fraction precision tolerance value",
    "list": "items values points lines words strings parts sequence rows list data args",
}
KINDS_OF_NAMES = {"int": ("int", "float"), "float": ("float", "int"), "list": ("list str", "list int", "list float")}
WORD = re.compile(r"[A-Za-z]+")
LISTS = frozenset(("list", "List", "Sequence", "Iterable", "Tuple", "tuple", "Collection"))
DICTS = frozenset(("dict", "Dict", "Mapping"))
UNKNOWN = ("str", "str", "int", "float", "list str", "list int", "list pair", "tuple int")
SHARE_WITH_OPTION = 0.4  # of calls that give an optional parameter too


def proposed_calls(function: Function, *, most: int, rng: SeededRandom) -> list[tuple[str, ...]]:
    """Return arguments for calls of the function, each a literal or name=literal, the examples of its docstring first."""
    found: dict[tuple[str, ...], None] = dict.fromkeys(_examples(function))
    pools = [_pool(one, None, function, rng=rng) for one in parameters_to_give(function)]
    optional = [(one.arg, _pool(one, default, function, rng=rng)) for one, default in parameters_with_default(function)]
    # As many tries as make that many different calls likely, and no more: a pool may be small.
    for _ in range(4 * most):
        if len(found) >= most:
            break
        arguments = [rng.choice(pool) for pool in pools]
        if optional and (not arguments or rng.bernoulli(SHARE_WITH_OPTION)):
            name, pool = rng.choice(optional)
            arguments.append(f"{name}={rng.choice(pool)}")
        found.setdefault(tuple(arguments))
    return list(found)[:most]


def _examples(function: Function) -> Iterator[tuple[str, ...]]:
    """Yield the arguments of the calls with literals that the docstring shows."""
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
                arguments = _literal_arguments(node)
                if arguments is not None:
                    yield arguments


def _called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _literal_arguments(call: ast.Call) -> tuple[str, ...] | None:
    """Return the call's arguments in one form; None where one is no literal."""
    arguments: list[str] = []
    try:
        for argument in call.args:
            arguments.append(repr(ast.literal_eval(argument)))
        for keyword in call.keywords:
            if keyword.arg is None:
                return None
            arguments.append(f"{keyword.arg}={ast.literal_eval(keyword.value)!r}")
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return tuple(arguments)


def _pool(parameter: ast.arg, default: ast.expr | None, function: Function, *, rng: SeededRandom) -> list[str]:
    """Return literals that the parameter may take, without repetition."""
    literals: dict[str, None] = {}
    for kind in _kinds(parameter, default):
        literals.update(dict.fromkeys(map(repr, _values(kind, function, rng=rng))))
    return list(literals)


def _kinds(parameter: ast.arg, default: ast.expr | None) -> Sequence[str]:
    """Return the kinds of values that the parameter seems to want: by its annotation, its default, its name; else several."""
    if parameter.annotation is not None:
        words = WORD.findall(ast.unparse(parameter.annotation))
        simple = [word for word in words if word in SIMPLE_TYPES]
        if not LISTS.isdisjoint(words):
            return (f"list {simple[0] if simple else 'str'}",)
        if not DICTS.isdisjoint(words):
            return ("dict",)
        if simple:
            # In the order of SIMPLE_TYPES, on which the drawn values depend.
            return sorted(set(simple), key=SIMPLE_TYPES.index)
    if isinstance(default, ast.Constant) and type(default.value).__name__ in SIMPLE_TYPES:
        return (type(default.value).__name__,)
    for kind, names in BY_NAME.items():
        if parameter.arg in names.split():
            return KINDS_OF_NAMES[kind]
    return UNKNOWN


def _values(kind: str, function: Function, *, rng: SeededRandom) -> list[Any]:
    """Return values of a kind: those that the function's own constants suggest, and others."""
    if kind == "bool":
        return [True, False]
    if kind == "int":
        return [*_near_own_integers(function), *INTEGERS]
    if kind == "float":
        return [*_own_constants(function, float), *FLOATS]
    if kind == "bytes":
        return list(map(str.encode, TEXTS))
    if kind in COLLECTIONS:
        make, sizes = COLLECTIONS[kind]
        return [make(size, rng) for size in sizes]
    return [*_own_texts(function, rng=rng), *TEXTS]


def _own_constants(function: Function, kind: type) -> list[Any]:
    found: list[Any] = []
    for node in ast.walk(function):
        # By the type itself: a bool is an int as well.
        if isinstance(node, ast.Constant) and type(node.value) is kind:
            found.append(node.value)
    return found


def _near_own_integers(function: Function) -> list[int]:
    """Return the function's own integers with those beside them, at which comparisons turn."""
    found: list[int] = []
    for value in _own_constants(function, int):
        if abs(value) < LARGE:
            found += [value - 1, value, value + 1]
    return found


def _own_texts(function: Function, *, rng: SeededRandom) -> list[str]:
    """Return the function's own short texts, and some of them after others."""
    own = [text for text in _own_constants(function, str) if 0 < len(text) <= MOST_LETTERS and "\n" not in text]
    return [*own, *(f"{rng.choice(TEXTS)} {text}".strip() for text in own[:6])]


def _words(size: int, rng: SeededRandom) -> list[str]:
    return rng.sample(WORDS, size)


def _counts_of_words(size: int, rng: SeededRandom) -> dict[str, int]:
    return {word: rng.integer_below(9) for word in rng.sample(WORDS, size)}


def _pairs(size: int, rng: SeededRandom) -> list[tuple[int, int]]:
    return [(rng.choice(INTEGERS), rng.choice(INTEGERS)) for _ in range(size)]


def _several_of(values: Sequence[Any]) -> Callable[[int, SeededRandom], list[Any]]:
    return lambda size, rng: [rng.choice(values) for _ in range(size)]


def _small_integers(size: int, rng: SeededRandom) -> tuple[Any, ...]:
    return tuple(_several_of(INTEGERS[:16])(size, rng))


# How a collection of a kind is made, and the sizes to try.
COLLECTIONS: dict[str, tuple[Callable[[int, SeededRandom], Any], tuple[int, ...]]] = {
    "dict": (_counts_of_words, (1, 2, 3)),
    "list int": (_several_of(INTEGERS), (1, 2, 3, 4, 5)),
    "list float": (_several_of(FLOATS), (2, 3, 4)),
    "list pair": (_pairs, (1, 2, 3, 4)),
    "tuple int": (_small_integers, (2, 2, 2, 4, 4, 6)),
    **dict.fromkeys(("list str", "list bool", "list bytes"), (_words, (1, 2, 3, 4))),
}
