"""Meanings of parameters: the words by which one is known, and values that a user would give for it."""

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from assets.code_qa.packages.symbols import Function

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# How much a word says that is in a parameter's name, in its function's, in the docstring's first line, in the module's name.
WEIGHT_OF_PARAMETER = 8
WEIGHT_OF_FUNCTION = 4
WEIGHT_OF_DOCSTRING = 2
WEIGHT_OF_MODULE = 1
# Words of parameters that may stand for anything.
VAGUE_WORDS = "arg content data expr input obj raw s src string text val value v x"
VAGUE = frozenset(VAGUE_WORDS.split())


@dataclass(frozen=True)
class Meaning:
    """Something that a parameter may stand for. `words` are singular and in small letters."""

    words: frozenset[str]
    values: tuple[Any, ...]


def _meaning(words: str, *values: Any) -> Meaning:
    return Meaning(frozenset(words.split()), values)


# What calls are made of: another order changes the calls of every release.
MEANINGS = (
    _meaning("count quantity amount", 0, 1, 2, 3, 12, 40, 1, 250),
    _meaning("bit precision", 2, 6, 8, 14, 16, 24, 32),
    _meaning("size filesize byte", "5 GB", "512 KiB", "1.5 MB", "42", "10 bytes", "0.5 TB", "3 parsecs", "16GiB"),
    _meaning("byte", 0, 1, 512, 1000, 1024, 4096, 1_500_000, 10**9, 2**30),
    _meaning("metre meter length distance", "5 km", "42 cm", "1.5 m", "12mm", "3 miles", "0.25 km", "one metre"),
    _meaning("metre meter distance", 0.001, 0.25, 1, 2.54, 42, 999, 1000, 42_195),
    _meaning("number decimal", 0, 7, 1234.5, 6_000, 1_250_000, 0.25, 3.14159, -42),
    _meaning("timespan duration timeout", "5m", "90 seconds", "1.5 hours", "2d", "1 week", "250 ms", "soon", "3 fortnights"),
    _meaning("datetime", "2024-02-29T08:30:00Z", "2021-12-31 23:59:59", "1979-05-27T07:32:00", "2024-02-30T08:00:00"),
    _meaning("date datestring day", "2024-02-29", "2021-12-31", "1999-01-01", "2013-06-17 02:47:42", "2024-13-01", "17 June"),
    _meaning("time clock", "07:32:00", "23:59:59", "08:30", "12:00:00.500", "24:10:00"),
    _meaning("epoch timestamp", 0, 86_400, 1_700_000_000, 3_406_620_153),
    _meaning("singular noun", "file", "box", "person", "query", "match", "child"),
    _meaning("plural", "files", "boxes", "people", "queries", "matches", "children"),
    _meaning("delimiter separator sep joiner glue", "-", "_", ", ", ";", "/", " ", "--"),
    _meaning("conjunction", "and", "or", "and/or", "plus"),
    _meaning("prefix", "tmp_", "draft-", "~", "lib"),
    _meaning("suffix extension ext", ".glif", ".txt", "_v2", ".bak"),
    _meaning("path folder directory", "docs/index.md", "/var/log/app.log", "../shared/", "C:/Users/ada/notes.txt", "a//b/./c"),
    _meaning(
        "filename file user name existing",
        "report.txt",
        "Ada Lovelace",
        "con",
        "A",
        "a_b",
        "ALPHA",
        "name:with*signs",
        "_hidden",
    ),
    _meaning("existing", ["a_.glif"], ["report.txt", "notes.txt"], [], ["a_a000000000000001.glif"]),
    _meaning(
        "wheel filename",
        "requests-2.31.0-py3-none-any.whl",
        "numpy-1.26.4-cp312-cp312-win_amd64.whl",
        "pip-24.0-1-py3-none-any.whl",
    ),
    _meaning("sdist filename", "requests-2.31.0.tar.gz", "my-package-1.0.zip", "flask-3.0.2.tar.gz", "flask.tar.gz"),
    _meaning(
        "tag platform packaging", "py3-none-any", "cp312-cp312-win_amd64", "cp311.cp312-abi3-linux_x86_64", "py2.py3-none-any"
    ),
    _meaning(
        "name project package distribution canonicalize normalize",
        *("Flask-SQLAlchemy", "zope.interface", "ruamel_yaml", "My..Pkg", "Pillow", "backports.zoneinfo", "typing__extensions"),
        *("-leading", "requests[security]"),
    ),
    _meaning(
        "version release", "1.0", "2.31.0", "1!2.0rc1", "1.0.post2", "0.9.dev4", "1.0+local.7", "v2.0-beta", "french toast"
    ),
    _meaning("letter pre", "alpha", "beta", "preview", "c", "rc", "rev"),
    _meaning(
        "label domain host hostname idna bidi codec ulabel alabel",
        *(
            "bücher",
            "münchen",
            "faß",
            "example",
            "xn--mnchen-3ya",
            "-dash",
            "ab--cd",
            "мир",
            "שלום",
            "例え",
            "a" * 20,
            "l·l",
            "٣x",
        ),
    ),
    _meaning("pos position index offset", 0, 1, 2, 3),
    _meaning("range", (4294967296, 12884901888), (0, 10), (34, 40)),
    _meaning(
        "label page wiki title heading slug slugify toc",
        "Release notes",
        "Getting started (part 2)",
        "FAQ & help",
        "Über uns",
        "C++ / Rust",
    ),
    _meaning("base url uri href", "/wiki/", "https://docs.example.org/", "/", "https://example.org/search?q=a b", "../up/"),
    _meaning("end", "/", ".html", ""),
    _meaning(
        "html tag cdata escape strip markup entity",
        *("<p>Tom & Jerry</p>", "5 < 6 & 7 > 2", 'say "hi"', "<b>bold</b> text", "a &amp; b", "no markup", "<a href='x'>y</a>"),
    ),
    _meaning("attr attribute", "#intro .lead", 'title="A note" .wide', ".note key=value", "#top lang=en .big", "lonely"),
    _meaning("markdown", "**bold** move", "# Title", "- one", "see [docs](https://example.org)", "`code`", "a  b", "1. first"),
    _meaning("doctype xml", "<!DOCTYPE html>", "<!doctype html><html>", "<?xml version='1.0'?>", "<html></html>"),
    _meaning("shebang", "#!/usr/bin/env python3", "#!/bin/sh", "#!/usr/bin/python -E", "print(1)"),
    _meaning("regex pattern interpreter", r"python(2\.\d)?", "sh", "python3?", "^a+b$"),
    _meaning("color colour", "#ff8800", "ansired", "fff", "#FFF", "var", "calc(1px)", "transparent"),
    _meaning("quote dequote", '"a quoted word"', "'single'", 'half"', "plain", '"it\'s"'),
    _meaning("boolean bool coerce flag", "yes", "no", "on", "off", "true", "False", "1", "0", "maybe", "Y"),
    _meaning("hex", "48656c6c6f", "ff 00 7f", "DEADBEEF", "0a0", "4c6f 7265 6d"),
    _meaning("binary bin", "00000101", "11110000 00001111", "1", "01111111"),
    _meaning("pad blob bytes", b"abcd", b"\x00\x01\x02", b"GSUB", b"hello"),
    _meaning("errors", "strict", "ignore", "replace"),
    _meaning("encoding charset", "ascii", "utf-8", "latin-1"),
    _meaning("tokentype ttype subtype", "String.Double", "Name.Function", "Keyword", "", "Comment.Single"),
    _meaning(
        "option", {"linenos": "table"}, {"full": "yes", "linenos": "1"}, {"stripnl": "off"}, {"tabsize": "8"}, {"hl": "1 2"}
    ),
    _meaning("optname", "linenos", "full", "stripnl", "tabsize", "hl"),
    _meaning("allowed choice", ["table", "inline"], ["yes", "no"], ["1", "8"]),
    _meaning("hl highlight", "1 3 5", "2-4", "1 10-12", "7", "5-3"),
    _meaning("usage", "Usage: tool [OPTIONS] FILE", "Usage: backup [-v] SOURCE TARGET", "Usage: go"),
    _meaning(
        "toml tomlkit value", "42", "1_000", "0x2A", "3.5e2", "true", "'literal'", '"a\\tb"', "[1, 2]", "1979-05-27", "nope"
    ),
    _meaning("rect bounds box", (0, 0, 100, 50), (10, 20, 60, 80), (50, 10, 20, 40), (-5.5, 0, 5.5, 12), (100, 50, 0, 0)),
    _meaning("pt point vector start corner", (0, 0), (10, 20), (3, 4), (100, 0), (50, 75.5), (-20, 30)),
    _meaning(
        "array points curve coordinate", [(0, 0), (10, 20), (5, 40)], [(3, 4)], [(0, 100), (50, -10)], [(1.5, 2.5), (-3, 0)]
    ),
    _meaning("line seg segment", [(0, 0), (100, 100)], [(0, 50), (80, 50)], [(10, 0), (10, 90)]),
    _meaning("t ratio fraction", 0, 0.25, 0.5, 0.75, 1),
    _meaning("where dx dy y", 0, 10, 25, -5, 50, 2.5),
    _meaning("tolerance", 0, 0.01, 0.1, 0.5, 1),
    _meaning("factor scale multiple", 1, 2, 5, 10, 0.25, 0.5),
    _meaning("fixed float round", 0.5, 1.25, -0.1, 2.75, 0.9999, 3.5, -2.5),
    _meaning("fixed version", 8192, -10_139, 0x10000, 22_528, 1, 0),
    _meaning("solve quadratic cubic coefficient", 1, -3, 2, 0, -10, 4, 6.5),
    _meaning("row column", ["Name", "Age"], ["ada", "36"], ["id", "e-mail"]),
    _meaning("table", [["ada", "36"], ["bob", "7"]], [["a", 1]]),
    _meaning(
        "item part element", ["eggs", "milk", "bread"], ["red", "green"], ["only one"], [], ["ada", "bob", "eve", "mallory"]
    ),
    _meaning("letters", ["a", "b", "c"], ["x", "-"], ["0", "1", "2", "]"]),
    _meaning(
        "strings iterable words seq it alist caseless common token sequence opt",
        ["and", "as", "assert"],
        ["for", "format"],
        ["b", "A", "c", "b"],
        ["x"],
    ),
    _meaning("var variable identifier", "KEYWORDS", "names", "TYPES"),
)
# Where no meaning is known and the kind of value is: what one would type first.
PLAIN: dict[str, tuple[Any, ...]] = {
    "str": (
        *("The quick brown fox", "hello world", "Order 66 shipped", "  padded  ", "Tom & Jerry", "release-2024", "naïve café"),
        *("one, two,three", "", "README"),
    ),
    "int": (0, 1, 2, 3, 5, 8, 10, 16, 42, 100, 255, -1),
    "float": (0.0, 0.5, 1.0, 1.5, 2.75, 9.99, -0.5, 100.25),
    "bool": (True, False),
    "bytes": (b"hello", b"abc", b"", b"\x00\xff"),
    "list str": (["eggs", "milk"], ["b", "a", "c"], ["only one"], ["red", "green", "blue"]),
    "list int": ([1, 2, 3], [10, 7, 7], [5], [3, 4, 5, 9]),
    "list float": ([0.5, 1.5], [2.25, 1.0, 3.75], [9.99]),
    "dict": ({"name": "ada"}, {"a": 1, "b": 2}, {"debug": "yes"}),
}


def words_in(name: str) -> set[str]:
    """Return the words of a name or a sentence in small letters, each as it is and without a plural's s."""
    words: set[str] = set()
    for word in WORD.findall(name):
        small = word.lower()
        words.update((small, small.removesuffix("s")))
    return words


def meanings_of(parameter: str, *, function: Function, module: str) -> list[list[Meaning]]:
    """Return what a parameter of a function may mean, the likeliest first, those of equal weight together."""
    weighed = (
        (words_in(parameter) - VAGUE, WEIGHT_OF_PARAMETER),
        (words_in(function.name), WEIGHT_OF_FUNCTION),
        (words_in(_first_line(function)), WEIGHT_OF_DOCSTRING),
        (words_in(module), WEIGHT_OF_MODULE),
    )
    by_points: dict[int, list[Meaning]] = {}
    for meaning in MEANINGS:
        points = sum(weight * len(meaning.words & words) for words, weight in weighed)
        if points:
            by_points.setdefault(points, []).append(meaning)
    return [by_points[points] for points in sorted(by_points, reverse=True)]


def _first_line(function: Function) -> str:
    return (ast.get_docstring(function) or "").partition("\n")[0]


def values_of_kinds(values: Iterable[Any], kinds: Sequence[str]) -> list[Any]:
    """Return the values of these kinds, as `PLAIN` names them; all of them where no kind is known."""
    return [value for value in values if not kinds or kind_of(value) in kinds]


def kind_of(value: object) -> str:
    """Return the kind of a value as `PLAIN` names kinds, such as list int; of a tuple that of a list."""
    if isinstance(value, list | tuple):
        elements: Sequence[object] = list(value)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
        return f"list {type(elements[0]).__name__}" if elements else "list str"
    return type(value).__name__
