"""Calls that are worth trying: those that a package shows, variations of these, and values after what parameters mean."""

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any

from assets.code_qa.execution.meanings import PLAIN, kind_of, meanings_of, values_of_kinds, words_in
from assets.code_qa.packages.examples import Arguments, keyword_and_literal
from assets.code_qa.packages.symbols import Function, parameters_to_give, parameters_with_default
from assets.engine.seeded_random import SeededRandom

SIMPLE_TYPES = ("bool", "int", "float", "bytes", "str")
LARGE = 10**9  # an integer from which on a call may take all memory
MOST_LETTERS = 20  # of a function's own text that is given to it
MOST_VARIED = 4  # variations of one shown value
WORD = re.compile(r"[A-Za-z]+")
NUMBER = re.compile(r"\d+")
LISTS = frozenset(("list", "List", "Sequence", "Iterable", "Tuple", "tuple", "Collection"))
DICTS = frozenset(("dict", "Dict", "Mapping"))
TEXT_METHODS = frozenset(dir(str)) - frozenset(dir(list)) - frozenset(dir(dict)) - frozenset(dir(bytes))
NAMES_OF_TEXTS = frozenset(("string", "text", "str", "paragraph", "sentence"))
SHARE_WITH_OPTION = 0.4  # of calls that give an optional parameter too


def proposed_calls(
    function: Function, *, module: str, shown: Sequence[Arguments], most: int, rng: SeededRandom
) -> list[Arguments]:
    """Return arguments for calls of the function, those that the package shows first.

    None beside these where nothing tells what a parameter stands for.
    """
    found: dict[Arguments, None] = dict.fromkeys(shown)
    values = _Values(function, module, shown, rng)
    pools: list[list[str]] = []
    for place, parameter in enumerate(parameters_to_give(function)):
        pools.append(values.pool(parameter, None, place))
    optional: list[tuple[str, list[str]]] = []
    for place, (parameter, default) in enumerate(parameters_with_default(function), start=len(pools)):
        pool = values.pool(parameter, default, place) if _is_literal(default) else []
        if pool:
            optional.append((parameter.arg, pool))
    if not all(pools) or not pools + [pool for _, pool in optional]:
        return list(found)[:most]
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


class _Values:
    """Finds literals for the parameters of one function."""

    def __init__(self, function: Function, module: str, shown: Sequence[Arguments], rng: SeededRandom) -> None:
        self._function = function
        self._module = module
        self._shown = shown
        self._rng = rng

    def pool(self, parameter: ast.arg, default: ast.expr | None, place: int) -> list[str]:
        """Return literals that a user would give for the parameter, without repetition; empty where nothing tells."""
        shown = list(self._shown_for(parameter.arg, place))
        kinds = _kinds(parameter, default, self._function) or list(dict.fromkeys(map(kind_of, shown)))
        values: list[Any] = list(shown)
        for argument in shown:
            values += self._variations(argument)
        if shown or kinds:
            values += self._own_constants(parameter.arg, kinds)
        values += self._values_of_meanings(parameter.arg, kinds) or self._plain_values(kinds, values)
        return list(dict.fromkeys(map(repr, values)))

    def _shown_for(self, name: str, place: int) -> Iterator[Any]:
        """Yield the values that shown calls give to the parameter."""
        for arguments in self._shown:
            for number, argument in enumerate(arguments):
                keyword, literal = keyword_and_literal(argument)
                if keyword == name or (not keyword and number == place):
                    yield ast.literal_eval(literal)

    def _values_of_meanings(self, name: str, kinds: Sequence[str]) -> list[Any]:
        """Return values of the likeliest meanings that have some of the right kind."""
        for meanings in meanings_of(name, function=self._function, module=self._module):
            values: list[Any] = []
            for meaning in meanings:
                values += values_of_kinds(meaning.values, kinds)
            if values:
                return values
        return []

    def _plain_values(self, kinds: Sequence[str], known: Sequence[Any]) -> list[Any]:
        """Return plain values of the kinds where too little is known of the parameter."""
        values: list[Any] = []
        if len(known) <= MOST_VARIED:
            for kind in kinds:
                values += PLAIN.get(kind, ())
        return values

    def _variations(self, value: Any) -> list[Any]:
        """Return values that differ from a shown one as the next user's would: other numbers, elements left out."""
        if isinstance(value, bool) or value is None:
            return []
        if isinstance(value, int | float):
            return [value + 1, value * 2, value * 10, -value][:MOST_VARIED]
        if isinstance(value, str):
            return [self._with_another_number(value) for _ in range(MOST_VARIED)] if NUMBER.search(value) else []
        if isinstance(value, list | tuple) and len(value) > 1:  # pyright: ignore[reportUnknownArgumentType]
            return [value[1:], value[:-1]] if isinstance(value, list) else []
        return []

    def _with_another_number(self, text: str) -> str:
        """Return the text with one of its numbers a little greater, and as long as before."""
        match = self._rng.choice(list(NUMBER.finditer(text)))
        other = str(int(match[0]) + 1 + self._rng.integer_below(9)).zfill(len(match[0]))
        return f"{text[: match.start()]}{other[-len(match[0]) :]}{text[match.end() :]}"

    def _own_constants(self, name: str, kinds: Sequence[str]) -> list[Any]:
        """Return values that the function compares the parameter itself with, integers with those beside them."""
        found: list[Any] = []
        for node in ast.walk(self._function):
            if not isinstance(node, ast.Compare) or name not in _names_of_comparison(node):
                continue
            for part in ast.walk(node):
                value = part.value if isinstance(part, ast.Constant) else None
                if type(value) is int and abs(value) < LARGE:
                    found += [value - 1, value, value + 1]
                elif isinstance(value, str) and 0 < len(value) <= MOST_LETTERS and "\n" not in value:
                    found.append(value)
        return values_of_kinds(found, kinds)


def _names_of_comparison(node: ast.Compare) -> list[str]:
    """Return the names that are compared as they are."""
    sides = [node.left, *node.comparators]
    return [side.id for side in sides if isinstance(side, ast.Name)]


def _kinds(parameter: ast.arg, default: ast.expr | None, function: Function) -> list[str]:
    """Return the kinds of values that the parameter takes, by annotation, default, use or name; none where nothing tells."""
    if parameter.annotation is not None:
        words = WORD.findall(ast.unparse(parameter.annotation))
        # In the order of SIMPLE_TYPES, on which the drawn values depend.
        simple = sorted(set(words) & set(SIMPLE_TYPES), key=SIMPLE_TYPES.index)
        if not LISTS.isdisjoint(words):
            return [f"list {element}" for element in simple or ["str"]]
        if not DICTS.isdisjoint(words):
            return ["dict"]
        if simple:
            return simple
    if default is not None:
        kind = kind_of(ast.literal_eval(default))
        if kind in PLAIN:
            return [kind]
    if _is_used_as_text(parameter.arg, function) or not NAMES_OF_TEXTS.isdisjoint(words_in(parameter.arg)):
        return ["str"]
    return []


def _is_used_as_text(name: str, function: Function) -> bool:
    """Return True where a method that texts alone have is called of the parameter."""
    for node in ast.walk(function):
        match node:
            case ast.Attribute(value=ast.Name(id=used), attr=method) if used == name and method in TEXT_METHODS:
                return True
            case _:
                pass
    return False


def _is_literal(default: ast.expr) -> bool:
    """Return True for a default that says what is given; a function as default takes another function."""
    try:
        ast.literal_eval(default)
    except ValueError:
        return False
    return True
