"""Functions with one place changed: a comparison, an operator, a constant, a branch."""

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

from assets.code_qa.packages.symbols import Function

COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Div,
    ast.Mod: ast.FloorDiv,
}
LARGE = 10**9  # an integer that bounds something, which one more does not change
# Texts that join or part others.
TEXTS = {" ": "_", "": "-", "-": "_", "_": "-", ",": ";", ", ": "; ", ".": ",", "/": "|", ":": "=", "0": "1", "s": "es"}
COMPARISON_SIGNS = ("<", "<=", ">", ">=", "==", "!=", "in", "not in", "is", "is not")
OPERATOR_SIGNS = ("+", "-", "*", "/", "//", "%")
SIGNS: dict[type[ast.AST], str] = {
    **dict(zip(COMPARISONS, COMPARISON_SIGNS, strict=True)),
    **dict(zip(OPERATORS, OPERATOR_SIGNS, strict=True)),
}


class Mutant(NamedTuple):
    """A changed function: its source, the line of the file where it was changed, and what was changed."""

    source: str
    line: int
    change: str


def mutants_of(function: Function) -> list[Mutant]:
    """Return all functions that differ from this one in one place, in order of places. Docstring and defaults stay."""
    mutants: list[Mutant] = []
    for number in range(len(list(_places(function)))):
        changed = copy.deepcopy(function)
        changed.decorator_list = []
        node, change = list(_places(changed))[number]
        for name, value in change.fields.items():
            setattr(node, name, value)
        line: int = getattr(node, "lineno", function.lineno)
        mutants.append(Mutant(ast.unparse(ast.fix_missing_locations(changed)), line, f"{change.words} in line {line}"))
    return mutants


class _Change(NamedTuple):
    """A change of a node in words, and the fields of the node that it sets."""

    words: str
    fields: dict[str, object]


def _places(function: Function) -> Iterator[tuple[ast.AST, _Change]]:
    """Yield the nodes of the body that can be changed."""
    body = function.body
    if ast.get_docstring(function) is not None:
        body = body[1:]
    for statement in body:
        for node in ast.walk(statement):
            change = _change_of(node)
            if change is not None:
                yield node, change


def _change_of(node: ast.AST) -> _Change | None:
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            other = COMPARISONS[type(operator)]
            return _Change(f"{SIGNS[type(operator)]} to {SIGNS[other]}", {"ops": [other()]})
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in OPERATORS:
            replaced = OPERATORS[type(operator)]
            return _Change(f"{SIGNS[type(operator)]} to {SIGNS[replaced]}", {"op": replaced()})
        case ast.BoolOp(op=ast.And()):
            return _Change("and to or", {"op": ast.Or()})
        case ast.BoolOp():
            return _Change("or to and", {"op": ast.And()})
        case ast.If(body=body, orelse=[_, *_] as orelse):
            return _Change("swapped branches", {"body": orelse, "orelse": body})
        case ast.IfExp(body=value, orelse=other_value):
            return _Change("swapped branches", {"body": other_value, "orelse": value})
        case ast.If(test=test):
            return _Change("turned condition", {"test": ast.UnaryOp(op=ast.Not(), operand=test)})
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            # The value stays a truth value, as the function's other results are.
            called = ast.Call(func=ast.Name(id="bool", ctx=ast.Load()), args=[operand], keywords=[])
            return _Change("left out not", {"op": ast.UAdd(), "operand": called})
        case ast.Constant(value=bool(value)):
            return _Change(f"{value} to {not value}", {"value": not value})
        case ast.Constant(value=int(value)) if abs(value) < LARGE:
            return _Change(f"{value} to {value + 1}", {"value": value + 1})
        case ast.Constant(value=str(value)) if value in TEXTS:
            return _Change(f"{value!r} to {TEXTS[value]!r}", {"value": TEXTS[value]})
        case _:
            return None
