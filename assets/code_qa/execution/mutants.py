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
# Texts that join or part others.
TEXTS = {" ": "_", "": "-", "-": "_", "_": "-", ",": ";", ", ": "; ", ".": ",", "/": "|", ":": "=", "0": "1", "s": "es"}
SIGNS: dict[type[ast.AST], str] = dict(
    zip(
        (*COMPARISONS, *OPERATORS),
        ("<", "<=", ">", ">=", "==", "!=", "in", "not in", "is", "is not", "+", "-", "*", "/", "//", "%"),
        strict=True,
    )
)


class Mutant(NamedTuple):
    """A changed function: its source, the line of the file where it was changed, and what was changed."""

    source: str
    line: int
    change: str


def mutants_of(function: Function) -> list[Mutant]:
    """All functions that differ from this one in one place, in order of places. Docstring and defaults stay."""
    count = sum(1 for _ in _places(function))
    return [_changed(function, number) for number in range(count)]


class _Place(NamedTuple):
    """A node that can be changed, and what would be changed of it."""

    node: ast.AST
    change: str


def _places(function: Function) -> Iterator[_Place]:
    documented = ast.get_docstring(function) is not None
    for statement in function.body[1 if documented else 0 :]:
        for node in ast.walk(statement):
            if change := _change(node):
                yield _Place(node, change)


def _change(node: ast.AST) -> str:
    """What would be changed of the node; empty where nothing can be."""
    match node:
        case ast.Compare(ops=[operator]) if type(operator) in COMPARISONS:
            return f"{SIGNS[type(operator)]} to {SIGNS[COMPARISONS[type(operator)]]}"
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator) if type(operator) in OPERATORS:
            return f"{SIGNS[type(operator)]} to {SIGNS[OPERATORS[type(operator)]]}"
        case ast.BoolOp(op=operator):
            return "and to or" if isinstance(operator, ast.And) else "or to and"
        case ast.If(orelse=[_, *_]) | ast.IfExp():
            return "swapped branches"
        case ast.If():
            return "turned condition"
        case ast.UnaryOp(op=ast.Not()):
            return "left out not"
        case ast.Constant(value=bool(value)):
            return f"{value} to {not value}"
        case ast.Constant(value=int(value)) if abs(value) < 10**9:
            return f"{value} to {value + 1}"
        case ast.Constant(value=str(value)) if value in TEXTS:
            return f"{value!r} to {TEXTS[value]!r}"
        case _:
            return ""


def _changed(function: Function, number: int) -> Mutant:
    """The function with its place of this number changed."""
    changed = copy.deepcopy(function)
    changed.decorator_list = []
    node, change = list(_places(changed))[number]
    line: int = getattr(node, "lineno", function.lineno)
    match node:
        case ast.Compare(ops=[operator]):
            node.ops = [COMPARISONS[type(operator)]()]
        case ast.BinOp(op=operator) | ast.AugAssign(op=operator):
            node.op = OPERATORS[type(operator)]()
        case ast.BoolOp(op=operator):
            node.op = ast.Or() if isinstance(operator, ast.And) else ast.And()
        case ast.If(orelse=[]):
            node.test = ast.UnaryOp(op=ast.Not(), operand=node.test)
        case ast.If():
            node.body, node.orelse = node.orelse, node.body
        case ast.IfExp():
            node.body, node.orelse = node.orelse, node.body
        case ast.UnaryOp():
            node.op = ast.UAdd()
            node.operand = ast.Call(func=ast.Name(id="bool", ctx=ast.Load()), args=[node.operand], keywords=[])
        case ast.Constant(value=bool(value)):
            node.value = not value
        case ast.Constant(value=int(value)):
            node.value = value + 1
        case ast.Constant():
            node.value = TEXTS[str(node.value)]
        case _:
            raise AssertionError("A place is one of the nodes above.")
    return Mutant(ast.unparse(ast.fix_missing_locations(changed)), line, f"{change} in line {line}")
