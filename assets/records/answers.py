"""Typed answers, graded by program: numbers, names, dates, options, lists of names and literals of code."""

import ast
import re
from datetime import date, datetime
from functools import lru_cache
from typing import Literal

from dateutil import parser as dates
from pydantic import Field

from assets.records.base import Record, Text
from assets.text.words import folded

AnswerKind = Literal["number", "name", "date", "option", "list", "code"]
NUMBER = re.compile(r"[-+]?\d+(?:[,\u2009\u00a0]\d{3})*(?:\.\d+)*")
# Between the names of a list, and the number or sign before each.
BETWEEN_NAMES = re.compile(r"\s*(?:[,;>\n\u2192]|\band\b|\bthen\b)\s*")
BEFORE_NAME = re.compile(r"^(?:\d+[.)]|[-*\u2022])\s*")
SEPARATORS = re.compile(r"[,\u2009\u00a0]")
# All that a literal consists of: nothing that could call or look up anything.
LITERAL_NODES = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.USub, ast.UAdd, ast.expr_context)
FIRST_DEFAULT = datetime(2001, 1, 1)
SECOND_DEFAULT = datetime(2002, 2, 2)
# Numbers alone count in this order only: 4/5/2031 is another day elsewhere.
YEAR_FIRST = re.compile(r"^\d{4}-\d{2}-\d{2}$")


class TypedAnswer(Record):
    """The right answer. Dates are ISO text; `options` are given with the question, for answers that are one of them."""

    kind: AnswerKind = Field(description="number, name, date, option, list or code")
    value: Text = Field(description="the right answer")
    options: tuple[Text, ...] = Field(default=(), description="what the question offers, where the answer is one of them")
    near_misses: tuple[Text, ...] = Field(default=(), description="answers of siblings, which are wrong")


def is_right(answer: TypedAnswer, given: str | None) -> bool:
    """Return True where what was given is the right answer, whatever its spelling."""
    return given is not None and normalize_answer(answer.kind, given) == normalize_answer(answer.kind, answer.value)


def normalize_answer(kind: AnswerKind, text: str) -> str:
    """The answer in one spelling; folded words where it is not of its kind."""
    if kind == "number":
        numbers = NUMBER.findall(text)
        return SEPARATORS.sub("", numbers[0]) if len(numbers) == 1 else folded(text)
    if kind == "date":
        found = read_date(text)
        return found.isoformat() if found else folded(text)
    if kind == "list":
        return _names_in_order(text)
    return _literal(text) if kind == "code" else folded(text).removeprefix("the ")


def _names_in_order(text: str) -> str:
    """The names of a list with one separator, however they were parted or numbered."""
    names: list[str] = []
    for piece in BETWEEN_NAMES.split(text.strip().rstrip(".")):
        name = folded(BEFORE_NAME.sub("", piece)).removeprefix("the ")
        if name:
            names.append(name)
    return " | ".join(names)


def _literal(text: str) -> str:
    """A literal in one spelling, a text without its quotes; what is none as it stands. Nothing is evaluated."""
    plain = text.strip().strip("`").strip()
    try:
        tree = ast.parse(plain, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return plain
    if isinstance(tree, ast.Constant) and isinstance(tree.value, str):
        return tree.value
    literal = all(isinstance(node, LITERAL_NODES) for node in ast.walk(tree))
    return ast.unparse(tree) if literal else plain


@lru_cache(maxsize=4096)  # one text is looked through for many dates
def read_date(text: str, *, year: int | None = None) -> date | None:
    """The date that a text is, such as 2031-05-04 or 4 May 2031; None for anything else.

    `year`: that of a day without one, such as 4 May, which is no date where none is given.
    """
    plain = text.strip().rstrip(".")
    if not any(sign.isdigit() for sign in plain) or not (YEAR_FIRST.match(plain) or re.search(r"[A-Za-z]{3}", plain)):
        return None
    try:
        # Two defaults: what is not said is filled in from them, and then the two readings differ.
        first = dates.parse(plain, default=FIRST_DEFAULT)
        second = dates.parse(plain, default=SECOND_DEFAULT)
    except (ValueError, OverflowError):
        return None
    if first.date() == second.date():
        return first.date()
    return read_date(f"{plain} {year}") if year else None
