"""Calls with literals that a package shows: in docstrings, in its docs and tests, and in its own code."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from assets.code_qa.packages.imports import parse_file
from assets.code_qa.records.sources import CallExample, CodeFile

PROMPT = re.compile(r"^[ \t]*>>> ?(.+(?:\n[ \t]*\.\.\.(?: .*)?$)*)", re.MULTILINE)
CONTINUED = re.compile(r"\n[ \t]*\.\.\. ?")
FENCED = re.compile(r"^[ \t]*```\s*(?:python|py)\s*\n(.*?)^[ \t]*```", re.MULTILINE | re.DOTALL)
MOST_EXAMPLES = 12  # of one function
Arguments = tuple[str, ...]  # literals in their canonical form, in order; keywords as name=literal


def shown_calls(symbol_ids: Iterable[str], *, files: Sequence[CodeFile], texts: Mapping[str, str]) -> list[CallExample]:
    """Return examples of calls of these functions, without repetition, in order of their ids.

    Those of sessions in docstrings come first, then those of `texts`, which are docs and tests by path, then the code's own.
    """
    by_name: dict[str, list[str]] = {}
    for symbol_id in symbol_ids:
        by_name.setdefault(symbol_id.rpartition(".")[2], []).append(symbol_id)
    found: dict[str, dict[Arguments, None]] = {}
    for call, is_own_code in _calls(files, texts):
        for symbol_id in by_name.get(_called_name(call), ()):
            arguments = canonical_arguments(call)
            if arguments is not None and _may_mean(call, symbol_id, is_own_code=is_own_code):
                found.setdefault(symbol_id, {}).setdefault(arguments)
    examples: list[CallExample] = []
    for symbol_id in sorted(found):
        for arguments in list(found[symbol_id])[:MOST_EXAMPLES]:
            examples.append(CallExample(symbol_id=symbol_id, arguments=arguments))
    return examples


def _calls(files: Sequence[CodeFile], texts: Mapping[str, str]) -> Iterator[tuple[ast.Call, bool]]:
    """Yield calls in order of their worth, each with True where it is of the package's own code."""
    for file in files:
        for session in _sessions(file.text):
            yield from ((call, False) for call in _calls_in(session))
    for path, text in sorted(texts.items()):
        sources = [text] if path.endswith(".py") else [*_sessions(text), *FENCED.findall(text)]
        for source in sources:
            yield from ((call, False) for call in _calls_in(source))
    for file in files:
        yield from ((call, True) for call in _calls_in(file.text))


def _sessions(text: str) -> Iterator[str]:
    """Yield what is typed after each prompt of an interpreter."""
    for typed in PROMPT.findall(text):
        yield CONTINUED.sub("\n", typed)


def _calls_in(source: str) -> Iterator[ast.Call]:
    for node in ast.walk(parse_file(source)):
        if isinstance(node, ast.Call):
            yield node


def _called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _may_mean(call: ast.Call, symbol_id: str, *, is_own_code: bool) -> bool:
    """Return True for a call by name, or by the name of a module or package around the function: `"".format` is no function."""
    if isinstance(call.func, ast.Name):
        return True
    base = call.func.value if isinstance(call.func, ast.Attribute) else None
    return not is_own_code and isinstance(base, ast.Name) and base.id in symbol_id.split(".")[:-1]


def canonical_arguments(call: ast.Call) -> Arguments | None:
    """Return a call's arguments in one form; None where one is no literal."""
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


def keyword_and_literal(argument: str) -> tuple[str, str]:
    """Return an argument's keyword, empty for one without, and its literal."""
    keyword, equals, literal = argument.partition("=")
    if equals and keyword.isidentifier():
        return keyword, literal
    return "", argument
